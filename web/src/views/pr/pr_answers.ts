// What the question `pr_curves` answers, and the lines that are drawn from it.
import type { Line } from "../../charts/lines";
import { unpack, type Packed } from "../../charts/packed";

const BESIDE = 1e-9;

export interface PrTag {
  tag: string;
  /** Of all the runs that are shown. */
  steps: number[];
}

export interface PrCurveAnswer {
  run: string;
  /** The last one that has this curve, or its first. */
  step: number;
  recall: Packed;
  precision: Packed;
  thresholds: Packed;
  average_precision: number;
  best: { threshold: number; f1: number; precision: number; recall: number };
}

export interface PrAnswer {
  tag: string;
  step: number;
  curves: PrCurveAnswer[];
  missing: string[];
}

/** Recall falls as the threshold rises; a chart wants its x ascending. A run keeps its colour. */
export function linesOf(curves: readonly PrCurveAnswer[], runs: readonly string[]): Line[] {
  return curves.map(({ run, recall, precision }) => {
    const [x, y] = [Array.from(unpack(recall)).reverse(), Array.from(unpack(precision)).reverse()];
    // Of many points at one recall the ends; uPlot finds the last place of a range by its x, which must not repeat.
    const ends = x.map((at, place) => at !== x[place - 1] || at !== x[place + 1]);
    const apart = x.map((at, place) => (at === x[place + 1] ? at - BESIDE : at));
    return { name: run, colour: Math.max(0, runs.indexOf(run)), x: apart.filter((_, place) => ends[place]), y: y.filter((_, place) => ends[place]) };
  });
}

/** Every step at which any of the tags was logged. */
export function stepsOf(tags: readonly PrTag[]): number[] {
  return [...new Set(tags.flatMap(({ steps }) => steps))].sort((one, other) => one - other);
}
