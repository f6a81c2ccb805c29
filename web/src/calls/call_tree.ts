// /ask/calls: a profile of Python's own cProfile. It knows who called whom and for how long, but no stacks: below a
// caller a function gets its share of what that caller took, wherever the caller itself was called from.
import type { Node } from "../icicle/cells";
import { count } from "../pieces/numbers";

/** Function, file (empty for what is built in), line, calls that were not recursive, all calls, own seconds, with all below. */
export type FunctionRow = [string, string, number, number, number, number, number];
/** Caller, callee, calls, own seconds, with all below. */
export type EdgeRow = [number, number, number, number, number];

export interface CallProfile {
  file: string;
  total_s: number;
  calls: number;
  functions: FunctionRow[];
  edges: EdgeRow[];
  left_out: number;
}

export interface Called {
  place: number;
  name: string;
  file: string;
  line: number;
  primitive: number;
  calls: number;
  own_s: number;
  total_s: number;
}

export function functionsOf(profile: CallProfile): Called[] {
  return profile.functions.map(([name, file, line, primitive, calls, own_s, total_s], place) => ({ place, name, file, line, primitive, calls, own_s, total_s }));
}

/** train.py:12; of libraries from their own folder on. */
export function spotOf({ file, line }: Called): string {
  return file ? `${file.replace(/^.*[/\\](site|dist)-packages[/\\]/, "")}:${line}` : "built in";
}

/** 5 calls; recursive ones are told apart as pstats does it: 21 calls, 1 of them from outside. */
export function callsOf({ calls, primitive }: Called): string {
  return primitive === calls ? count(calls, "call") : `${count(calls, "call")}, ${primitive.toLocaleString("en-US")} not recursive`;
}

type Calls = Map<number, [callee: number, total_s: number][]>;

/** From one function down, or from all that nobody called. Parts are made when they are looked at: a function that
 *  is called in many ways stands in many places. */
export function treeOf(profile: CallProfile, from: number | null): Node {
  const functions = functionsOf(profile);
  const calls: Calls = new Map(functions.map(({ place }) => [place, []]));
  for (const [caller, callee, , , total_s] of profile.edges) if (caller !== callee) calls.get(caller)!.push([callee, total_s]);
  const start = from === null ? undefined : functions[from];
  if (start) return new CallNode(start, start.total_s, functions, calls, new Set());
  const roots = beginnings(profile, functions).map((each) => new CallNode(each, each.total_s, functions, calls, new Set()));
  return { name: "all", seconds: Math.max(profile.total_s, ...roots.map((each) => each.seconds)), children: roots.sort(byTime) };
}

/** What nobody called. Where a program's beginning was called again from within (exec, by every import), that is little
 *  or nothing: then the function with the most time below it is one. */
function beginnings(profile: CallProfile, functions: readonly Called[]): Called[] {
  const called = new Set(profile.edges.filter(([caller, callee]) => caller !== callee).map(([, callee]) => callee));
  const first = functions.filter((each) => !called.has(each.place));
  const known = first.reduce((sum, each) => sum + each.total_s, 0);
  return known >= profile.total_s / 2 ? first : [...functions.slice(0, 1), ...first];
}

class CallNode implements Node {
  readonly name: string;
  readonly key: string;
  readonly about: string;
  #parts: Node[] | null = null;

  constructor(
    private readonly called: Called,
    readonly seconds: number,
    private readonly functions: readonly Called[],
    private readonly calls: Calls,
    private readonly above: ReadonlySet<number>,
  ) {
    this.name = called.name;
    this.key = String(called.place);
    this.about = `${spotOf(called)}; in all ${callsOf(called)}`;
  }

  /** A function that is on the way here already is not shown again: its time is in the one above. */
  get children(): readonly Node[] {
    this.#parts ??= this.#made();
    return this.#parts;
  }

  #made(): Node[] {
    const { place, total_s } = this.called;
    const above = new Set([...this.above, place]);
    const share = total_s > 0 ? this.seconds / total_s : 0;
    const parts = (this.calls.get(place) ?? []).filter(([callee]) => !above.has(callee));
    return parts.map(([callee, seconds]) => new CallNode(this.functions[callee]!, Math.min(seconds * share, this.seconds), this.functions, this.calls, above)).sort(byTime);
  }
}

function byTime(one: Node, other: Node): number {
  return other.seconds - one.seconds;
}
