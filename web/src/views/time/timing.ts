// /ask/timing: where the time and the memory of a run went, as far as it was recorded.
import type { Num } from "../../answers";
import type { Line } from "../../charts/lines";
import type { Node } from "../../icicle/cells";
import { count } from "../../pieces/numbers";

export interface Part {
  /** The name of a colour variable; without it, the place decides. */
  colour?: string;
  name: string;
  seconds: number;
  /** What is left over, not measured by itself. */
  rest?: boolean;
}

export interface Memory {
  steps: number[];
  /** Of `steps`, where they are no steps: ms. */
  unit?: string;
  /** Bytes by category, one number a step. */
  categories: Record<string, number[]>;
  /** The most there was at once. */
  peak: Record<string, number>;
}

/** A line of the user's, or a library's function below one. */
export interface SampledPart {
  key: string;
  name: string;
  about: string;
  quiet: boolean;
  samples: number;
  children: SampledPart[];
}

export interface Sampled {
  /** training, worker 0, ... */
  who: string;
  name: string;
  period_s: number;
  root: SampledPart;
}

export interface Dear {
  name: string;
  /** The code of a line, the calls of an op. */
  beside: string;
  seconds: number;
  share: number;
}

export interface Profile {
  told: string;
  lines: Dear[];
  ops: Dear[];
}

/** What the memory of one device was used for, before the backward of some steps. */
export interface MemoryUse {
  device: string;
  steps: number[];
  categories: Record<string, number[]>;
  /** The fullest moment that was looked at, and what it was made of. */
  peak: { step: number; bytes: number; text: string };
}

export interface Stretch {
  from: number;
  to: number;
  mean_s: number;
  max_s: number;
  wait_s: number | null;
}

export interface Steps {
  count: number;
  total_s: number;
  median_s: number;
  slow_s: number;
  steps_per_s: number | null;
  wait_s: number | null;
  stretches: Stretch[];
}

export interface SlowStep {
  step: number;
  seconds: number;
  wait_s: number | null;
  looked_at: boolean;
  /** A model ran without gradients in it. */
  evaluated: boolean;
}

export interface Timing {
  steps: Steps | null;
  slowest: SlowStep[];
  /** A step divided into its parts; null where no part was measured. */
  split: Part[] | null;
  /** Time by module, the whole model at the root. */
  modules: Node | null;
  /** Where Python was, by whose thread; empty where nobody asked. */
  sampled: Sampled[];
  memory: Memory | null;
  memory_use?: MemoryUse[];
  cost: { ratio: Num; spent_s: number; budget: number; looks: number } | null;
  /** The dearest lines and ops, where some steps were profiled. */
  profile?: Profile | null;
}

export function linesOf(stretches: readonly Stretch[]): Line[] {
  const x = stretches.map((each) => each.from);
  const joined = stretches.some((each) => each.from !== each.to);
  const lines: Line[] = [{ name: joined ? "mean step" : "step", x, y: stretches.map((each) => each.mean_s) }];
  if (joined) lines.push({ name: "slowest step", x, y: stretches.map((each) => each.max_s), colour: 7 });
  if (stretches.some((each) => each.wait_s)) lines.push({ name: "waiting for data", x, y: stretches.map((each) => each.wait_s ?? 0), colour: 1 });
  return lines;
}

/** Samples are its time: each stands for a period. */
export function nodeOf(part: SampledPart, period_s: number): Node {
  const { key, name, about, quiet, samples } = part;
  return { key, name, about, quiet, seconds: samples * period_s, amount: count(samples, "sample"), children: part.children.map((each) => nodeOf(each, period_s)) };
}

/** What this run's log does not tell, in one sentence; empty where it tells all. */
export function untold({ split, modules, sampled, memory }: Timing): string {
  const missing = [
    (split?.length ?? 0) > 2 ? "" : "how a step divides into transfer, forward, backward and optimizer",
    modules ? "" : "the time of each module",
    sampled.length ? "" : "the lines at which Python was",
    memory ? "" : "memory over time",
  ].filter(Boolean);
  const [last, ...rest] = missing.reverse();
  if (last === undefined) return "";
  return `Not recorded in this run: ${rest.length ? `${rest.reverse().join(", ")} and ` : ""}${last}.`;
}
