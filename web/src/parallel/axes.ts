// The axes of a parallel plot: where on its axis a value stands, from 0 (bottom) to 1 (top).
import { number } from "../pieces/numbers";

export type AxisValue = boolean | number | string | null | undefined;

export interface Axis {
  name: string;
  /** null: not on this axis */
  place: (value: AxisValue) => number | null;
  ticks: { place: number; label: string }[];
  /** Why some runs have no place on it, null where all have: they are marked at its foot. */
  foot: string | null;
}

type Scale = Omit<Axis, "foot">;

const NOT_FINITE = new Set(["nan", "inf", "-inf"]);
const MOST_WORDS = 12;

export function axisOf(name: string, values: readonly AxisValue[]): Axis {
  const known = values.filter((value): value is boolean | number | string => value !== null && value !== undefined && !NOT_FINITE.has(String(value)));
  const axis = known.length && known.every((value) => typeof value === "number") ? numbersAxis(name, known as number[]) : wordsAxis(name, known.map(String));
  return { ...axis, foot: footOf(values) };
}

function footOf(values: readonly AxisValue[]): string | null {
  const unknown = values.some((value) => value === null || value === undefined);
  const notFinite = values.some((value) => NOT_FINITE.has(String(value)));
  if (unknown) return notFinite ? "not known or NaN" : "not known";
  return notFinite ? "not finite" : null;
}

/** The axes on which the runs stand apart: one with a single value for all of them tells nothing. */
export function varying(names: readonly string[], runs: readonly { values: Record<string, AxisValue> }[]): string[] {
  return names.filter((name) => new Set(runs.map((run) => run.values[name]).filter((value) => value !== null && value !== undefined)).size > 1);
}

/** The stretches of places side by side that a line can join: it breaks where a run has no place. */
export function stretches<Point>(points: readonly (Point | null)[]): Point[][] {
  const found: Point[][] = [];
  points.forEach((point, which) => {
    if (point === null) return;
    if (which > 0 && points[which - 1] !== null) found[found.length - 1]!.push(point);
    else found.push([point]);
  });
  return found;
}

/** Over more than a power of ten a value's size matters, not its difference. */
function numbersAxis(name: string, values: readonly number[]): Scale {
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

function wordsAxis(name: string, values: readonly string[]): Scale {
  const words = [...new Set(values)].sort();
  const at = (word: string) => (words.length > 1 ? words.indexOf(word) / (words.length - 1) : 0.5);
  const place = (value: AxisValue) => (value === null || value === undefined || !words.includes(String(value)) ? null : at(String(value)));
  return { name, place, ticks: words.length <= MOST_WORDS ? words.map((word) => ({ place: at(word), label: word })) : [] };
}
