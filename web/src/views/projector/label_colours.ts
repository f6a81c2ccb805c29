// The colours of labels: of few one each, of many numbers a ramp, of many words the most frequent ones.
import { css, sequential } from "../../charts/heat_colours";
import { paletteName, PALETTE_SIZE, resolve } from "../../charts/palette";
import type { LabelColumn } from "./answers";

const MOST_COLOURS = 24;

export interface Group {
  label: string;
  /** Which of the column's labels. */
  number: number;
  points: number;
  colour: string;
}

export interface Colouring {
  /** Of each point. */
  of: (row: number) => string;
  /** The most frequent first; empty where a ramp is shown. */
  groups: Group[];
  /** Different labels that have no colour of their own, and their points. */
  others: { labels: number; points: number };
  ramp: { low: number; high: number } | null;
}

export function colouringOf(column: LabelColumn | undefined, isDark: boolean): Colouring {
  const plain = resolve("--accent");
  const quiet = resolve("--quiet");
  if (!column) return { of: () => plain, groups: [], others: { labels: 0, points: 0 }, ramp: null };
  const numbers = column.labels.map((label) => (label.trim() === "" ? NaN : Number(label)));
  if (column.labels.length > MOST_COLOURS && numbers.every((value) => Number.isFinite(value))) return rampOf(column, numbers);
  const ordered = frequent(column);
  const kept = ordered.slice(0, MOST_COLOURS);
  // Colours belong to labels in the order of their names, so that they stay the same from step to step.
  const named = [...kept].sort((one, other) => byName(column.labels[one.number]!, column.labels[other.number]!));
  const colours = new Map(named.map(({ number }, at) => [number, shade(at, kept.length, isDark)]));
  const groups = kept.map(({ number, points }) => ({ label: column.labels[number]!, number, points, colour: colours.get(number)! }));
  const rest = ordered.slice(MOST_COLOURS);
  return {
    of: (row) => colours.get(column.of[row]!) ?? quiet,
    groups,
    others: { labels: rest.length, points: rest.reduce((sum, each) => sum + each.points, 0) },
    ramp: null,
  };
}

function byName(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}

function rampOf(column: LabelColumn, numbers: number[]): Colouring {
  const low = numbers.reduce((least, value) => Math.min(least, value), Infinity);
  const high = numbers.reduce((most, value) => Math.max(most, value), -Infinity);
  const colours = numbers.map((value) => css(sequential(high > low ? (value - low) / (high - low) : 0.5)));
  return { of: (row) => colours[column.of[row]!]!, groups: [], others: { labels: 0, points: 0 }, ramp: { low, high } };
}

function frequent(column: LabelColumn): { number: number; points: number }[] {
  const counts = new Array<number>(column.labels.length).fill(0);
  for (const number of column.of) counts[number]! += 1;
  return counts.map((points, number) => ({ number, points })).sort((one, other) => other.points - one.points || byName(column.labels[one.number]!, column.labels[other.number]!));
}

function shade(at: number, all: number, isDark: boolean): string {
  if (all <= PALETTE_SIZE) return resolve(paletteName(at));
  const lightness = (isDark ? [0.72, 0.84, 0.62] : [0.6, 0.45, 0.7])[at % 3]!;
  return `oklch(${lightness} 0.15 ${Math.round((360 * at) / all)})`;
}
