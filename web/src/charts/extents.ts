import type { Line, Range } from "./lines";
import { measured } from "./notfinite";

/** From the first x of all lines to the last; on a log axis only what is above zero. */
export function extentOf(lines: Line[], log = false): Range | null {
  let low = Infinity;
  let high = -Infinity;
  for (const { x } of lines.map(measured)) {
    let first = 0;
    while (log && first < x.length && x[first]! <= 0) first += 1;
    if (first >= x.length) continue;
    low = Math.min(low, x[first]!);
    high = Math.max(high, x[x.length - 1]!);
  }
  return low <= high ? [low, high] : null;
}

const ROUNDING = 1e-6; // logs keep float32: a constant learning rate, smoothed, would be a mountain range

/** Some air around what is drawn, and a width also for what has none. */
export function padded(low: number, high: number, log: boolean, air = 0.06): Range {
  if (log) {
    const [from, to] = padded(Math.log10(low), Math.log10(high), false, air);
    return [10 ** from, 10 ** to];
  }
  if (high - low <= Math.max(Math.abs(low), Math.abs(high)) * ROUNDING) {
    const half = Math.abs(low) * 0.05 || 0.5;
    return [low - half, high + half];
  }
  return [low - (high - low) * air, high + (high - low) * air];
}

/** The range after a zoom by `factor` around `centre` (0 left, 1 right) and a move by `shift` of its width. */
export function moved([low, high]: Range, factor: number, centre: number, shift: number, log: boolean): Range {
  if (log && low > 0) {
    const [from, to] = moved([Math.log10(low), Math.log10(high)], factor, centre, shift, false);
    return [10 ** from, 10 ** to];
  }
  const width = high - low;
  const start = low + width * (centre * (1 - factor) + shift);
  return [start, start + width * factor];
}

/** A range that is moved so that half of it lies on the data; null, which is all, where it would be twice as wide. */
export function keptOnData(range: Range, whole: Range | null, log: boolean): Range | null {
  if (!whole) return range;
  if (log && range[0] > 0 && whole[0] > 0) {
    const kept = keptOnData([Math.log10(range[0]), Math.log10(range[1])], [Math.log10(whole[0]), Math.log10(whole[1])], false);
    return kept && [10 ** kept[0], 10 ** kept[1]];
  }
  const half = (range[1] - range[0]) / 2;
  if (half >= whole[1] - whole[0]) return null;
  const low = Math.min(Math.max(range[0], whole[0] - half), whole[1] - half);
  return [low, low + 2 * half];
}
