// The charts in sight say what they need; what they need is asked for together, in one question.
import type { Range } from "../../charts/lines";
import { ask, isReport, type Parameters } from "../../asking";
import { writeList } from "./choices";
import { readCurve, readGroup, type CurveAnswer, type GroupAnswer, type TagCurves } from "./curve_answers";

/** What holds for all charts. */
export interface Terms {
  run: string;
  runs: string[];
  x: string;
  log: boolean;
  by: string;
  version: string;
}

export interface Need {
  width: number;
  range: Range | null;
}

interface Kept {
  need: Need;
  /** The terms and the need that `curves` answers. */
  stamp: string;
  tell: (curves: TagCurves | null, error: string | null) => void;
}

const MOST_AT_ONCE = 40; // tags in one address
const AIR = 0.25; // of the range, on either side: a little movement needs no new answer, and smoothing a run-up

export class CurveBook {
  private terms: Terms | null = null;
  private readonly needs = new Map<string, Kept>();
  private asking = false;
  private planned = false;

  /** `onFirst` is called when the first curves are there: what can wait until then does. */
  constructor(private readonly onFirst: () => void = () => {}) {}

  setTerms(terms: Terms): void {
    this.terms = terms;
    this.plan();
  }

  /** From now on `tell` is given the curves of this tag whenever they change; the answer ends it. */
  need(tag: string, need: Need, tell: Kept["tell"]): () => void {
    const kept = { need, stamp: "", tell };
    this.needs.set(tag, kept);
    this.plan();
    return () => {
      if (this.needs.get(tag) === kept) this.needs.delete(tag);
    };
  }

  change(tag: string, need: Need): void {
    const kept = this.needs.get(tag);
    if (!kept) return;
    kept.need = need;
    this.plan();
  }

  private plan(): void {
    if (this.planned || this.asking) return;
    this.planned = true;
    queueMicrotask(() => {
      this.planned = false;
      void this.answer();
    });
  }

  /** One question at a time: while one is under way, wishes gather, and only the last of them is asked for. */
  private async answer(): Promise<void> {
    const { terms } = this;
    if (!terms || this.asking) return;
    this.asking = true;
    const ahead = this.open(terms);
    await Promise.all(batches(ahead).map((batch) => this.fetch(terms, batch)));
    this.asking = false;
    if (ahead.length && this.open(this.terms ?? terms).length) this.plan();
  }

  private open(terms: Terms): [string, Kept][] {
    return [...this.needs].filter(([, kept]) => kept.stamp !== stampOf(terms, kept.need));
  }

  private async fetch(terms: Terms, batch: [string, Kept][]): Promise<void> {
    const need = batch[0]![1].need;
    const stamp = stampOf(terms, need);
    for (const [, kept] of batch) kept.stamp = stamp;
    const tags = batch.map(([tag]) => tag);
    try {
      const found = await curvesOf(terms, tags, need);
      for (const [tag, kept] of batch) kept.tell(found.get(tag) ?? { curves: [], groups: [] }, null);
      this.onFirst();
    } catch (error) {
      for (const [, kept] of batch) kept.tell(null, (error as Error).message);
    }
  }
}

function stampOf(terms: Terms, need: Need): string {
  return JSON.stringify(isReport() ? [terms.run] : [terms, need]);
}

/** Those with the same need go together. */
function batches(open: [string, Kept][]): [string, Kept][][] {
  const byNeed = new Map<string, [string, Kept][]>();
  for (const each of open) {
    const key = isReport() ? each[0] : JSON.stringify(each[1].need);
    byNeed.set(key, [...(byNeed.get(key) ?? []), each]);
  }
  return [...byNeed.values()].flatMap((batch) => {
    const parts: [string, Kept][][] = [];
    for (let start = 0; start < batch.length; start += MOST_AT_ONCE) parts.push(batch.slice(start, start + MOST_AT_ONCE));
    return parts;
  });
}

async function curvesOf(terms: Terms, tags: string[], need: Need): Promise<Map<string, TagCurves>> {
  const found = new Map<string, TagCurves>(tags.map((tag) => [tag, { curves: [], groups: [] }]));
  if (terms.by) {
    const { groups } = await ask<{ groups: GroupAnswer[] }>("grouped", { ...parametersOf(terms, tags, need), by: terms.by });
    for (const group of groups) found.get(group.tag)?.groups.push(readGroup(group));
  } else {
    const { curves } = await ask<{ curves: CurveAnswer[] }>("scalars", parametersOf(terms, tags, need));
    for (const curve of curves) found.get(curve.tag)?.curves.push(readCurve(curve));
  }
  return found;
}

/** The report has each tag as a whole, and nothing else. */
export function parametersOf({ run, runs, x, log }: Terms, tags: string[], { width, range }: Need): Parameters {
  if (isReport()) return { run, tags: writeList(tags) };
  const [low, high] = range ?? [undefined, undefined];
  const air = range ? (range[1] - range[0]) * AIR : 0;
  return {
    ...(runs.length > 1 ? { runs: writeList(runs) } : { run }),
    tags: writeList(tags),
    width: Math.round(width * (range ? 1 + 2 * AIR : 1)),
    x: x === "step" ? undefined : x,
    log: log ? 1 : undefined,
    from: low === undefined ? undefined : low - air,
    to: high === undefined ? undefined : high + air,
  };
}
