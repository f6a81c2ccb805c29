// A chart as an SVG of its own, drawn from the same points with the same ticks, in the light theme whatever the page's:
// it goes into papers. Built as elements, so that every name of a run is escaped by the serializer.
import { extentOf, padded } from "./extents";
import type { Line, Mark, Points, Range, XAxis } from "./lines";
import { countsInWords, countsOf, kindOf, measured, type Kind } from "./notfinite";
import { dashOf, inLightTheme, paletteName, resolve } from "./palette";
import { ticksOf } from "./ticks";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 800;
const ROW = 18;
const BOX = { left: 64, right: 36, bottom: 40, height: 320 };

export interface Picture {
  title: string;
  x: XAxis;
  lines: Line[];
  marks: Mark[];
  logX: boolean;
  logY: boolean;
  /** What is in sight. */
  xRange: Range | null;
  yRange: Range | null;
}

export function chartAsSvg(picture: Picture): string {
  return inLightTheme(() => drawing(picture));
}

function drawing(picture: Picture): string {
  const top = ROW * (picture.lines.length > 1 ? picture.lines.length + 2 : 2);
  const height = top + BOX.height + BOX.bottom;
  const root = made("svg", { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, "font-family": "system-ui, sans-serif", "font-size": 12 });
  root.append(made("rect", { width: "100%", height: "100%", fill: resolve("--ground") }));
  root.append(text(picture.title, 8, 20, { "font-weight": 600, fill: resolve("--ink") }));
  const space = spaceOf(picture, top);
  if (space) fill(root, picture, space);
  return new XMLSerializer().serializeToString(root);
}

interface Space {
  x: Range;
  y: Range;
  top: number;
  toX: (value: number) => number;
  toY: (value: number) => number;
}

function spaceOf(picture: Picture, top: number): Space | null {
  const x = picture.xRange ?? extentOf(picture.lines, picture.logX);
  if (!x) return null;
  const [from, to] = x[0] < x[1] ? x : padded(x[0], x[1], picture.logX);
  const y = picture.yRange ?? heights(picture);
  const width = WIDTH - BOX.left - BOX.right;
  return {
    x: [from, to],
    y,
    top,
    toX: (value) => BOX.left + width * part(value, [from, to], picture.logX),
    toY: (value) => top + BOX.height * (1 - part(value, y, picture.logY)),
  };
}

function part(value: number, [low, high]: Range, log: boolean): number {
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

function heights({ lines, logY }: Picture): Range {
  const all = lines.flatMap((line) => [Array.from(line.y), Array.from(line.low ?? []), Array.from(line.high ?? []), Array.from(line.raw?.y ?? [])]).flat();
  const drawn = all.filter((value) => Number.isFinite(value) && (!logY || value > 0));
  if (!drawn.length) return logY ? [0.1, 10] : [0, 1];
  return padded(drawn.reduce((a, b) => Math.min(a, b)), drawn.reduce((a, b) => Math.max(a, b)), logY);
}

function fill(root: SVGElement, picture: Picture, space: Space): void {
  const clip = made("clipPath", { id: "box" });
  clip.append(made("rect", { x: BOX.left, y: space.top, width: WIDTH - BOX.left - BOX.right, height: BOX.height }));
  root.append(clip, ...axes(picture, space));
  const inside = made("g", { "clip-path": "url(#box)", fill: "none", "stroke-linejoin": "round" });
  picture.lines.forEach((line, place) => inside.append(...drawn(line, place, picture, space)));
  root.append(inside);
  picture.lines.forEach((line, place) => {
    if (picture.lines.length > 1) root.append(...name(line, place));
  });
  root.append(...picture.marks.filter(({ x }) => x >= space.x[0] && x <= space.x[1]).flatMap((mark) => markOf(mark, space)));
}

function axes({ x, logX, logY }: Picture, space: Space): SVGElement[] {
  const bottom = space.top + BOX.height;
  const quiet = resolve("--quiet");
  const line = { stroke: resolve("--line") };
  return [
    ...ticksOf(x.kind, space.x, 8, logX).flatMap(({ at, text: word }) => [
      made("line", { x1: space.toX(at), x2: space.toX(at), y1: space.top, y2: bottom, ...line }),
      text(word, space.toX(at), bottom + 15, { "text-anchor": "middle", fill: quiet }),
    ]),
    ...ticksOf("number", space.y, 7, logY).flatMap(({ at, text: word }) => [
      made("line", { x1: BOX.left, x2: WIDTH - BOX.right, y1: space.toY(at), y2: space.toY(at), ...line }),
      text(word, BOX.left - 6, space.toY(at) + 4, { "text-anchor": "end", fill: quiet }),
    ]),
    text(x.name, WIDTH / 2, bottom + 33, { "text-anchor": "middle", fill: quiet }),
  ];
}

function drawn(line: Line, place: number, picture: Picture, space: Space): SVGElement[] {
  const stroke = resolve(paletteName(line.colour ?? place));
  const parts: SVGElement[] = [];
  if (line.low && line.high) parts.push(made("path", { d: bandPath(line, space), fill: stroke, "fill-opacity": 0.18 }));
  if (line.raw) parts.push(made("path", { d: path(line.raw, picture, space), stroke, "stroke-opacity": 0.3 }));
  parts.push(made("path", { d: path(line, picture, space), stroke, "stroke-width": 1.6, ...dashed(line, place) }));
  return [...parts, ...notFinite(measured(line), space)];
}

function dashed(line: Line, place: number): Record<string, string> {
  return { "stroke-dasharray": dashOf(line.colour ?? place).join(" ") || "none" };
}

function path({ x, y }: Points, { logX, logY }: Picture, space: Space): string {
  let pen = "M";
  const words: string[] = [];
  for (let place = 0; place < x.length; place++) {
    const [at, value] = [x[place]!, y[place]!];
    if (!Number.isFinite(value) || (logY && value <= 0) || (logX && at <= 0)) {
      pen = "M";
      continue;
    }
    words.push(`${pen}${space.toX(at).toFixed(1)} ${space.toY(value).toFixed(1)}`);
    pen = "L";
  }
  return words.join("");
}

function bandPath({ x, low, high }: Line, space: Space): string {
  const point = (place: number, y: ArrayLike<number>) => `${space.toX(x[place]!).toFixed(1)} ${space.toY(y[place]!).toFixed(1)}`;
  const there = Array.from({ length: x.length }, (_, place) => place).filter((place) => Number.isFinite(low![place]! + high![place]!));
  const way = [...there.map((place) => point(place, high!)), ...there.reverse().map((place) => point(place, low!))];
  return way.length ? `M${way.join("L")}Z` : "";
}

function notFinite({ x, y }: Points, space: Space): SVGElement[] {
  const places = Array.from({ length: x.length }, (_, place) => place);
  return places.flatMap((place) => {
    const kind = kindOf(y[place]!);
    return kind ? [sign(kind, space.toX(x[place]!), space)] : [];
  });
}

function sign(kind: Kind, x: number, { top }: Space): SVGElement {
  const colour = resolve("--notfinite");
  const bottom = top + BOX.height;
  if (kind === "nan") return made("path", { d: `M${x - 4} ${bottom - 10}l8 8m0-8l-8 8`, stroke: colour, "stroke-width": 2 });
  const d = kind === "inf" ? `M${x} ${top}l-5 9h10z` : `M${x} ${bottom}l-5-9h10z`;
  return made("path", { d, fill: colour });
}

function name(line: Line, place: number): SVGElement[] {
  const y = ROW * (place + 2) + 2;
  const odd = countsInWords(countsOf(line));
  const look = { stroke: resolve(paletteName(line.colour ?? place)), "stroke-width": 2.5, ...dashed(line, place) };
  return [made("line", { x1: 8, x2: 32, y1: y - 4, y2: y - 4, ...look }), text(odd ? `${line.name} (${odd})` : line.name, 40, y, { fill: resolve("--ink") })];
}

function markOf({ x, label, colour = "--error" }: Mark, space: Space): SVGElement[] {
  const at = space.toX(x);
  return [
    made("line", { x1: at, x2: at, y1: space.top, y2: space.top + BOX.height, stroke: resolve(colour), "stroke-dasharray": "4 3" }),
    text(label, at + 4, space.top + 12, { fill: resolve(colour) }),
  ];
}

function made(kind: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, kind);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

function text(words: string, x: number, y: number, attributes: Record<string, string | number>): SVGElement {
  const element = made("text", { x, y, ...attributes });
  element.textContent = words;
  return element;
}
