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
}

/** /ask/losses?runs=A,B,C: of as many as a chart can show. */
export interface Losses {
  runs: Record<string, { tag: string; steps: number[]; values: Num[] } | null>;
  all: number;
}

/** In the order in which the runs were chosen, which gives them their colours in every chart of the page. */
export function linesOf(names: readonly string[], losses: Losses, titleOf: (name: string) => string): Line[] {
  return names.flatMap((name, colour) => {
    const loss = losses.runs[name];
    return loss ? [{ name: titleOf(name), colour, x: loss.steps, y: loss.values.map(toNumber) }] : [];
  });
}

/** What the reader calls a run; two of one name are told apart by their folders. */
export function titlesOf(names: readonly string[], labels: Readonly<Record<string, { name?: string }>>): (name: string) => string {
  const given = new Map(names.map((name) => [name, labels[name]?.name || name]));
  const shared = new Set([...given.values()].filter((title, place, all) => all.indexOf(title) !== place));
  return (name) => {
    const title = given.get(name) ?? name;
    return shared.has(title) && title !== name ? `${title} (${name})` : title;
  };
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
