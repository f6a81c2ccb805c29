// /ask/compare?runs=A,B
import { toNumber, type Num } from "../../answers";
import type { Line } from "../../charts/lines";
import type { DiffLine } from "../../pieces/Diff";

export interface Difference {
  name: string;
  /** Empty: that run has none. */
  first: string;
  second: string;
}

export interface Topic {
  name: string;
  differences: Difference[];
  all_differences: number;
  /** Of a unified diff. */
  lines: string[];
  all_lines: number;
  /** What could not be compared, and why. */
  unseen: string;
}

export interface Comparison {
  runs: [string, string];
  answer: string;
  verdict: "same" | "rounding" | "parted" | "unseen";
  /** At which they part. */
  step: number | null;
  sentences: string[];
  findings: string[];
  points: Difference[];
  topics: Topic[];
  small_print: string[];
  losses: ({ tag: string; steps: number[]; values: Num[] } | null)[];
}

export function linesOf({ runs, losses }: Comparison): Line[] {
  return losses.flatMap((loss, place) => (loss ? [{ name: runs[place] ?? "", colour: place, x: loss.steps, y: loss.values.map(toNumber) }] : []));
}

/** A unified diff line by line; the names of the files stand in its first two. */
export function diffLines(lines: readonly string[]): DiffLine[] {
  return lines.map((line) => {
    if (line.startsWith("@@") || line.startsWith("--- ") || line.startsWith("+++ ")) return { mark: "@", text: line };
    const mark = line[0];
    return mark === "+" || mark === "-" ? { mark, text: line.slice(1) } : { mark: " ", text: line.slice(1) };
  });
}

/** The names of the topics in which nothing differs and nothing was hidden. */
export function same(topics: readonly Topic[]): string[] {
  return topics.filter((topic) => !topic.all_differences && !topic.all_lines && !topic.unseen).map((topic) => topic.name);
}
