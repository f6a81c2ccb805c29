// Points on a canvas, the far ones first.
import type { Sprite } from "./answers";

export interface Drawn {
  /** On the screen, in the page's pixels: x, y and nearness of each row. */
  places: Float32Array;
  rows: Int32Array;
  colourOf: (row: number) => string;
  isFaded: (row: number) => boolean;
  sprite: { image: CanvasImageSource; cut: Sprite } | null;
  /** Of each row: which picture of the sprite. */
  pictureOf: (row: number) => number;
  marked: readonly number[];
  picked: number | null;
  /** Said beside its point. */
  words: { row: number; text: string }[];
  radius: number;
  ink: string;
  ground: string;
  accent: string;
}

const LEVELS = 256;

/** The rows from far to near; on a plane as they are. */
export function fromFar(places: Float32Array, rows: Int32Array): Int32Array {
  let [low, high] = [Infinity, -Infinity];
  for (const row of rows) {
    low = Math.min(low, places[row * 3 + 2]!);
    high = Math.max(high, places[row * 3 + 2]!);
  }
  if (!(high > low)) return rows;
  const levelOf = (row: number) => Math.min(LEVELS - 1, Math.floor(((places[row * 3 + 2]! - low) / (high - low)) * LEVELS));
  const starts = new Int32Array(LEVELS + 1);
  for (const row of rows) starts[levelOf(row) + 1]! += 1;
  for (let level = 0; level < LEVELS; level++) starts[level + 1]! += starts[level]!;
  const ordered = new Int32Array(rows.length);
  for (const row of rows) ordered[starts[levelOf(row)]!++] = row;
  return ordered;
}

export function drawCloud(paper: CanvasRenderingContext2D, width: number, height: number, drawn: Drawn): void {
  const { places } = drawn;
  paper.clearRect(0, 0, width, height);
  for (const row of fromFar(places, drawn.rows)) {
    const [x, y] = [places[row * 3]!, places[row * 3 + 1]!];
    if (!(x > -50 && y > -50 && x < width + 50 && y < height + 50)) continue;
    paper.globalAlpha = drawn.isFaded(row) ? 0.1 : 0.65 + 0.3 * places[row * 3 + 2]!;
    if (drawn.sprite) picture(paper, drawn, row, x, y);
    else dot(paper, x, y, drawn.radius, drawn.colourOf(row));
  }
  paper.globalAlpha = 1;
  for (const row of drawn.marked) ring(paper, drawn, row, drawn.ink, 1.5);
  if (drawn.picked !== null) ring(paper, drawn, drawn.picked, drawn.accent, 3);
  for (const each of drawn.words) words(paper, width, drawn, each);
}

function dot(paper: CanvasRenderingContext2D, x: number, y: number, radius: number, colour: string): void {
  paper.fillStyle = colour;
  paper.beginPath();
  paper.arc(x, y, radius, 0, 2 * Math.PI);
  paper.fill();
}

export function pictureSize({ sprite, radius }: Pick<Drawn, "sprite" | "radius">): { width: number; height: number } {
  if (!sprite) return { width: 2 * radius, height: 2 * radius };
  const { width, height } = sprite.cut;
  const scale = (radius * 7) / Math.max(width, height);
  return { width: width * scale, height: height * scale };
}

function picture(paper: CanvasRenderingContext2D, drawn: Drawn, row: number, x: number, y: number): void {
  const { image, cut } = drawn.sprite!;
  const { width, height } = pictureSize(drawn);
  const place = drawn.pictureOf(row);
  const [left, top] = [(place % cut.columns) * cut.width, Math.floor(place / cut.columns) * cut.height];
  paper.drawImage(image, left, top, cut.width, cut.height, x - width / 2, y - height / 2, width, height);
  paper.strokeStyle = drawn.colourOf(row);
  paper.lineWidth = 2;
  paper.strokeRect(x - width / 2, y - height / 2, width, height);
}

function ring(paper: CanvasRenderingContext2D, drawn: Drawn, row: number, colour: string, line: number): void {
  const [x, y] = [drawn.places[row * 3]!, drawn.places[row * 3 + 1]!];
  if (!Number.isFinite(x + y)) return;
  paper.strokeStyle = colour;
  paper.lineWidth = line;
  const { width, height } = pictureSize(drawn);
  if (drawn.sprite) {
    paper.strokeRect(x - width / 2 - 2, y - height / 2 - 2, width + 4, height + 4);
    return;
  }
  paper.beginPath();
  paper.arc(x, y, drawn.radius + 3, 0, 2 * Math.PI);
  paper.stroke();
}

function words(paper: CanvasRenderingContext2D, all: number, drawn: Drawn, { row, text }: { row: number; text: string }): void {
  const [x, y] = [drawn.places[row * 3]!, drawn.places[row * 3 + 1]!];
  if (!Number.isFinite(x + y)) return;
  const short = text.length > 40 ? `${text.slice(0, 39)}…` : text;
  paper.font = "600 13px system-ui, sans-serif";
  const aside = pictureSize(drawn).width / 2 + 6;
  const wide = paper.measureText(short).width;
  const left = x + aside + wide > all ? x - aside - wide : x + aside;
  paper.lineWidth = 4;
  paper.lineJoin = "round";
  paper.strokeStyle = drawn.ground;
  paper.strokeText(short, left, y + 4);
  paper.fillStyle = drawn.ink;
  paper.fillText(short, left, y + 4);
}

/** The row under the pointer, of several the nearest to the reader; null where there is none near. */
export function rowAt(drawn: Pick<Drawn, "places" | "rows" | "sprite" | "radius" | "isFaded">, x: number, y: number): number | null {
  const { width, height } = pictureSize(drawn);
  const [reachX, reachY] = [Math.max(10, width / 2), Math.max(10, height / 2)];
  let best: number | null = null;
  let bestScore = Infinity;
  for (const row of drawn.rows) {
    const [dx, dy] = [Math.abs(drawn.places[row * 3]! - x), Math.abs(drawn.places[row * 3 + 1]! - y)];
    if (!(dx <= reachX && dy <= reachY) || drawn.isFaded(row)) continue;
    const score = Math.hypot(dx, dy) - 4 * drawn.places[row * 3 + 2]!;
    if (score < bestScore) [best, bestScore] = [row, score];
  }
  return best;
}
