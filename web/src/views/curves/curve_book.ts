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

type Tell = (curves: ReadonlyMap<string, TagCurves> | null, error: string | null) => void;

interface Kept {
  tags: readonly string[];
  need: Need;
  /** The terms and the need that `curves` answers. */
  stamp: string;
  tell: Tell;
}

/** What one chart has asked for. */
export interface Asking {
  change: (need: Need) => void;
  stop: () => void;
}

const MOST_AT_ONCE = 40; // tags in one address
const AIR = 0.25; // of the range, on either side: a little movement needs no new answer, and smoothing a run-up

export class CurveBook {
  private terms: Terms | null = null;
  private readonly needs = new Set<Kept>();
  private asking = false;
  private planned = false;

  /** `onFirst` is called when the first curves are there: what can wait until then does. */
  constructor(private readonly onFirst: () => void = () => {}) {}

  setTerms(terms: Terms): void {
    this.terms = terms;
    this.plan();
  }

  /** From now on `tell` is given the curves of these tags whenever they change. */
  need(tags: readonly string[], need: Need, tell: Tell): Asking {
    const kept: Kept = { tags, need, stamp: "", tell };
    this.needs.add(kept);
    this.plan();
    const change = (changed: Need) => {
      kept.need = changed;
      this.plan();
    };
    return { change, stop: () => void this.needs.delete(kept) };
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

  private open(terms: Terms): Kept[] {
    return [...this.needs].filter((kept) => kept.stamp !== stampOf(terms, kept.need));
  }

  private async fetch(terms: Terms, batch: Kept[]): Promise<void> {
    const need = batch[0]!.need;
    const stamp = stampOf(terms, need);
    for (const kept of batch) kept.stamp = stamp;
    try {
      const found = await curvesOf(terms, [...new Set(batch.flatMap(({ tags }) => tags))], need);
      for (const kept of batch) kept.tell(new Map(kept.tags.map((tag) => [tag, found.get(tag) ?? { curves: [], groups: [] }])), null);
      this.onFirst();
    } catch (error) {
      for (const kept of batch) kept.tell(null, (error as Error).message);
    }
  }
}

function stampOf(terms: Terms, need: Need): string {
  return JSON.stringify(isReport() ? [terms.run] : [terms, need]);
}

/** Those with the same need go together. */
function batches(open: Kept[]): Kept[][] {
  const byNeed = new Map<string, Kept[]>();
  for (const each of open) {
    const key = isReport() ? JSON.stringify(each.tags) : JSON.stringify(each.need);
    byNeed.set(key, [...(byNeed.get(key) ?? []), each]);
  }
  return [...byNeed.values()].flatMap(parted);
}

/** In parts of not too many tags; a chart is in one part. */
function parted(batch: Kept[]): Kept[][] {
  const parts: Kept[][] = [];
  let room = 0;
  for (const each of batch) {
    if (!parts.length || each.tags.length > room) {
      parts.push([]);
      room = MOST_AT_ONCE;
    }
    parts[parts.length - 1]!.push(each);
    room -= each.tags.length;
  }
  return parts;
}

/** A report has each tag by itself; one that did not fit into it is left out beside others. */
async function curvesOf(terms: Terms, tags: string[], need: Need): Promise<Map<string, TagCurves>> {
  if (!tags.length) return new Map(); // a chart of a layout that fits nothing
  if (!isReport() || tags.length === 1) return curvesTogether(terms, tags, need);
  const each = await Promise.allSettled(tags.map((tag) => curvesTogether(terms, [tag], need)));
  return new Map(each.flatMap((part) => (part.status === "fulfilled" ? [...part.value] : [])));
}

async function curvesTogether(terms: Terms, tags: string[], need: Need): Promise<Map<string, TagCurves>> {
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
