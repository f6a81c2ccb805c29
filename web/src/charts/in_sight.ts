// What of a line is in sight: a chart is given some points beside it, for a little movement and for smoothing.
import type { Line, Points, Range } from "./lines";
import { kindOf, measured } from "./notfinite";

/** The place of the first point in sight, and the one behind the last. */
export function placesIn(x: ArrayLike<number>, sight: Range | null): [number, number] {
  if (!sight) return [0, x.length];
  return [countUntil(x, (each) => each >= sight[0]), countUntil(x, (each) => each > sight[1])];
}

export function pointsIn({ x, y }: Points, sight: Range | null): Points {
  if (!sight) return { x, y };
  const [from, to] = placesIn(x, sight);
  const cut = (values: ArrayLike<number>): number[] => Array.prototype.slice.call(values, from, to);
  return { x: cut(x), y: cut(y) };
}

/** Whether a point, or the line between two, is in the picture. */
export function hasAnything(lines: Line[], sight: Range | null, heights: Range | null): boolean {
  return lines.some((line) => {
    const { x, y } = measured(line);
    const [from, to] = placesIn(x, sight);
    if (from === to && (from === 0 || to === x.length)) return false;
    return !heights || reaches(y, from, to, heights);
  });
}

/** The points beside the sight count too: a line comes from there. What is not finite is marked at the edge. */
function reaches(y: ArrayLike<number>, from: number, to: number, [bottom, top]: Range): boolean {
  let low = Infinity;
  let high = -Infinity;
  for (let place = Math.max(0, from - 1); place < Math.min(y.length, to + 1); place++) {
    const value = y[place]!;
    if (!kindOf(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    else if (place >= from && place < to) return true;
  }
  return low <= top && high >= bottom;
}

/** How many of the ascending values come before those that `reached` takes. */
function countUntil(x: ArrayLike<number>, reached: (x: number) => boolean): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (reached(x[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
