// Draws the cells in sight. What is no number has a look of its own: NaN and Inf the reserved colour with stripes,
// what nobody measured the ground with faint dots.
import type { Num } from "../answers";
import { edge, type Shape } from "./heat_cells";
import { shades } from "./heat_colours";
import { placeOf, type HeatRange } from "./heat_scale";
import { resolve } from "./palette";

export interface Inks {
  shades: string[];
  ground: string;
  notFinite: string;
  quiet: string;
}

export function inksFor(isDiverging: boolean): Inks {
  const ground = resolve("--ground");
  return { shades: shades(isDiverging, isDark(ground)), ground, notFinite: resolve("--notfinite"), quiet: resolve("--line") };
}

function isDark(colour: string): boolean {
  const [red = 255, green = 255, blue = 255] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
}

export interface Picture {
  shape: Shape;
  range: HeatRange | null;
  inks: Inks;
  /** Undefined: not read yet. */
  valueAt: (row: number, column: number) => Num | undefined;
}

/** `first` and `last` are the rows in sight, `scrolled` how far the first row has gone up. */
export function drawCells(context: CanvasRenderingContext2D, picture: Picture, scrolled: number, first: number, last: number): void {
  const { shape, inks } = picture;
  context.fillStyle = inks.ground;
  context.fillRect(0, 0, context.canvas.width, context.canvas.height);
  for (let row = first; row < last; row++)
    for (let column = 0; column < shape.columns; column++) {
      const left = edge(column, shape);
      const wide = edge(column + 1, shape) - left;
      if (wide > 0) drawCell(context, picture, picture.valueAt(row, column), left, row * shape.rowHeight - scrolled, wide);
    }
}

function drawCell(context: CanvasRenderingContext2D, { shape, range, inks }: Picture, value: Num | undefined, x: number, y: number, wide: number): void {
  const tall = shape.rowHeight - 1;
  const gap = wide > 8 ? 1 : 0;
  if (value === undefined) return;
  if (value === null) dots(context, inks.quiet, x, y, wide - gap, tall);
  else if (typeof value === "string") stripes(context, inks, x, y, wide - gap, tall);
  else {
    const place = range ? placeOf(value, range) : 0;
    context.fillStyle = inks.shades[Math.round(place * (inks.shades.length - 1))]!;
    context.fillRect(x, y, wide - gap, tall);
  }
}

export function stripes(context: CanvasRenderingContext2D, inks: Inks, x: number, y: number, wide: number, tall: number): void {
  context.fillStyle = inks.notFinite;
  context.fillRect(x, y, wide, tall);
  context.save();
  context.beginPath();
  context.rect(x, y, wide, tall);
  context.clip();
  context.strokeStyle = inks.ground;
  context.lineWidth = 1;
  context.beginPath();
  // Counted from the corner of the picture, so that the stripes of neighbours meet.
  for (let at = Math.floor((x - tall) / 6) * 6; at < x + wide; at += 6) {
    context.moveTo(at, y + tall);
    context.lineTo(at + tall, y);
  }
  context.stroke();
  context.restore();
}

export function dots(context: CanvasRenderingContext2D, ink: string, x: number, y: number, wide: number, tall: number): void {
  context.fillStyle = ink;
  for (let at = Math.ceil(x / 5) * 5; at < x + wide; at += 5) context.fillRect(at, y + tall / 2 - 0.5, 1.5, 1.5);
}
