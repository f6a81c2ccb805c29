// The axes of a parallel plot: where on its axis a value stands, from 0 (bottom) to 1 (top).
import { number } from "../pieces/numbers";

export type AxisValue = boolean | number | string | null | undefined;

export interface Axis {
  name: string;
  /** null: not on this axis */
  place: (value: AxisValue) => number | null;
  ticks: { place: number; label: string }[];
}

const NOT_FINITE = new Set(["nan", "inf", "-inf"]);
const MOST_WORDS = 12;

export function axisOf(name: string, values: readonly AxisValue[]): Axis {
  const known = values.filter((value): value is boolean | number | string => value !== null && value !== undefined && !NOT_FINITE.has(String(value)));
  return known.length && known.every((value) => typeof value === "number") ? numbersAxis(name, known as number[]) : wordsAxis(name, known.map(String));
}

/** Over more than a power of ten a value's size matters, not its difference. */
function numbersAxis(name: string, values: readonly number[]): Axis {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const log = low > 0 && high / low >= 30;
  const scale = log ? Math.log10 : (value: number) => value;
  const span = scale(high) - scale(low);
  const place = (value: AxisValue) => (typeof value === "number" && Number.isFinite(value) && !(log && value <= 0) ? (span ? (scale(value) - scale(low)) / span : 0.5) : null);
  return { name: log ? `${name} (log)` : name, place, ticks: ticksOf(values, place).map((value) => ({ place: place(value) ?? 0.5, label: number(value, 3) })) };
}

/** Every value where they are few and stand apart, else the ends. */
function ticksOf(values: readonly number[], place: (value: AxisValue) => number | null): number[] {
  const each = [...new Set(values)].sort((one, other) => one - other);
  const apart = each.every((value, at) => at === 0 || place(value)! - place(each[at - 1])! > 0.08);
  return apart ? each : [each[0]!, each[each.length - 1]!];
}

function wordsAxis(name: string, values: readonly string[]): Axis {
  const words = [...new Set(values)].sort();
  const at = (word: string) => (words.length > 1 ? words.indexOf(word) / (words.length - 1) : 0.5);
  const place = (value: AxisValue) => (value === null || value === undefined || !words.includes(String(value)) ? null : at(String(value)));
  return { name, place, ticks: words.length <= MOST_WORDS ? words.map((word) => ({ place: at(word), label: word })) : [] };
}
