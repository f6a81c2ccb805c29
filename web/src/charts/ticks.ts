// Where an axis is labelled, and how. The chart on the screen and the SVG share this.
import type { Range, XAxis } from "./lines";
import { clock, duration, exponential, shortNumber } from "./numbers";

const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

export interface Tick {
  at: number;
  /** Empty: a line without a word, because words would run into each other. */
  text: string;
}

const ENOUGH = 2; // one number alone tells no scale
const TRIES = 8;

/** At most about `most` of them; where that is one, two of a finer scale. */
export function ticksOf(axis: XAxis["kind"], range: Range, most: number, log = false): Tick[] {
  const made = ticksAmong(axis, range, most, log);
  if (said(made).length >= ENOUGH || !(range[1] > range[0])) return made;
  for (let finer = most + 1; finer <= TRIES; finer += 1) {
    const found = said(ticksAmong(axis, range, finer, log));
    if (found.length >= ENOUGH) return [found[0]!, found[found.length - 1]!];
  }
  return made;
}

function said(ticks: Tick[]): Tick[] {
  return ticks.filter((tick) => tick.text);
}

function ticksAmong(axis: XAxis["kind"], range: Range, most: number, log: boolean): Tick[] {
  const [low, high] = range;
  if (!(high > low) || !Number.isFinite(high - low)) return Number.isFinite(low) ? [{ at: low, text: textOf(axis, low, 0, low) }] : [];
  if (log && low > 0) return logTicks(range, most);
  const step = stepOf(axis, (high - low) / Math.max(1, most));
  const shift = axis === "clock" && step >= 60 ? new Date(low * 1000).getTimezoneOffset() * 60 : 0;
  const first = Math.ceil((low - shift) / step - 1e-9);
  const count = Math.min(100, Math.floor((high - shift) / step + 1e-9) - first + 1);
  const largest = Math.max(Math.abs(low), Math.abs(high));
  return Array.from({ length: count }, (_, place) => {
    const at = clean((first + place) * step, step) + shift;
    return { at, text: textOf(axis, at, step, largest) };
  });
}

function stepOf(axis: XAxis["kind"], least: number): number {
  if (axis !== "number" && least > 1) {
    const found = SECONDS.find((each) => each >= least);
    return found ?? niceStep(least / 86400) * 86400;
  }
  return axis === "clock" ? 1 : niceStep(least);
}

/** 1, 2 or 5 times a power of ten, not below `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((each) => each * power >= least * (1 - 1e-9)) ?? 10;
  return factor * power;
}

function clean(value: number, step: number): number {
  const digits = Math.min(20, Math.max(0, 2 - Math.floor(Math.log10(step))));
  return Number(value.toFixed(digits));
}

function textOf(axis: XAxis["kind"], at: number, step: number, largest: number): string {
  if (axis === "duration") return duration(at);
  return axis === "clock" ? clock(at, step || 1) : compact(at, step, largest);
}

const MOST_LETTERED = 1e9; // 999M, and from here on 1e9, 2e14
const LEAST_SHORTENED = 1e4;

/** 1,500,000 -> 1.5M: the words of an axis have little room. The step says how many digits differ, and the largest
 *  number of the axis whether all of them are powers of ten: 5e8 beside 1e9. */
export function compact(value: number, step = 0, largest = Math.abs(value)): string {
  const size = Math.abs(value);
  const digits = step > 0 && size > 0 ? Math.min(12, Math.max(3, Math.ceil(Math.log10(size / step)) + 1)) : 4;
  if (size < LEAST_SHORTENED) return shortNumber(value, digits);
  if (largest >= MOST_LETTERED) return exponential(value, digits);
  return size >= 1e6 ? `${shortNumber(value / 1e6, digits)}M` : `${shortNumber(value / 1e3, digits)}k`;
}

function logTicks([low, high]: Range, most: number): Tick[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const powers = last - first;
  if (powers <= 1 && high / low < 5) return ticksOf("number", [low, high], most);
  const every = Math.max(1, Math.ceil(powers / most));
  const factors = every > 1 ? [1] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const said = powers * 2 <= most ? [1, 2, 5] : [1];
  const made: Tick[] = [];
  for (let power = first; power <= last; power += 1)
    for (const factor of factors) {
      const at = clean(factor * 10 ** power, 10 ** power);
      if (at < low * (1 - 1e-9) || at > high * (1 + 1e-9)) continue;
      const loud = said.includes(factor) && power % every === 0;
      if (loud || every === 1) made.push({ at, text: loud ? compact(at, 0, high) : "" });
    }
  return made;
}
