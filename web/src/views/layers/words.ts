// Numbers of layers in words.
import { toNumber, type Num } from "../../answers";
import { number, oddWord, percent } from "../../pieces/numbers";
import type { Grid, LayerNumber } from "./answers";

const MOST_DOTS = 60; // of more, a small chart is all dots

export function sayValue(value: Num | undefined, unit: string): string {
  if (value === undefined) return "being read";
  const odd = oddWord(value);
  if (odd !== null) return odd;
  if (unit === "share") return percent(value);
  const short = number(Number(toNumber(value).toPrecision(3)));
  return unit ? `${short} ${unit}` : short;
}

/** Why a map has few columns, and how to get more; empty where nearly every step was looked at. */
export function whyFewLooks(measured: number, steps: number, budget: number | null): string {
  if (measured === 0 || measured >= 0.9 * steps) return "";
  const cost = budget === null ? "small" : `within ${percent(budget)} of the run's time`;
  return `Measured at ${measured.toLocaleString("en-US")} of ${steps.toLocaleString("en-US")} steps: closer looks are rationed to keep the cost of watching ${cost}. \`torch-debugger run --deep-steps 50\` looks closely at each of the first 50 steps, \`--budget 10%\` more often all along.`;
}

/** Looks that lie far apart must not be joined as if every step between them had been measured. */
export function isSparse(steps: readonly number[]): boolean {
  const span = (steps[steps.length - 1] ?? 0) - (steps[0] ?? 0);
  return steps.length <= MOST_DOTS && span >= 2 * steps.length;
}

/** What a cell says: the number's name is in it, for a bare 1.02 means nothing. */
export function sayCell(value: Num | undefined, which: LayerNumber): string {
  return `${which.title.charAt(0).toLowerCase()}${which.title.slice(1)} ${sayValue(value, which.unit)}`;
}

/** The map in words, for whoever does not see it. */
export function mapInWords(which: LayerNumber, grid: Grid): string {
  const { layers, steps, range } = grid;
  const odd = grid.values.flat().filter((value) => typeof value === "string").length;
  const colours = range ? ` Colours from ${sayValue(range.low, which.unit)} to ${sayValue(range.high, which.unit)}.` : "";
  const bad = odd ? ` ${odd} cells are NaN or infinite.` : "";
  return `${which.title}: ${layers.length} layers at ${steps.length} looks, steps ${steps[0]} to ${steps[steps.length - 1]}.${colours}${bad}`;
}

/** Every part of what was typed must be in the name, in any order; upper case counts as lower. */
export function matches(name: string, typed: string): boolean {
  const lower = name.toLowerCase();
  return typed.toLowerCase().split(/\s+/).every((part) => lower.includes(part));
}
