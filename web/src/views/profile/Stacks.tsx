import { useMemo } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import type { Node } from "../../icicle/cells";
import { FlameChoice } from "../../icicle/FlameChoice";
import { count } from "../../pieces/numbers";
import { Empty, Problem, Waiting } from "../../states";
import type { StackRow } from "./answers";

export function Stacks({ trace }: { trace: string }) {
  const { answer, error } = useAnswer<{ stacks: StackRow[] }>("trace", { trace, part: "stacks" });
  const root = useMemo(() => treeOf(answer?.stacks ?? []), [answer]);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the Python functions" />;
  if (!answer.stacks.length) return <Empty title="This trace has no Python functions.">They are there where torch.profiler was given with_stack=True.</Empty>;
  return <FlameChoice title="Time by Python function" label="Time by Python function" root={root} about="Of the training's thread, over the profiled steps. A function is as wide as its time; calls from the same place are together." />;
}

export function treeOf(rows: readonly StackRow[]): Node {
  const nodes = rows.map(([, name, seconds, calls], place) => ({ name, seconds, key: String(place), about: count(calls, "call"), quiet: isLibrary(name), children: [] as Node[] }));
  const roots: Node[] = [];
  rows.forEach(([parent], place) => (parent < 0 ? roots : nodes[parent]!.children).push(nodes[place]!));
  return { name: "the profiled steps", seconds: roots.reduce((sum, each) => sum + each.seconds, 0), children: roots };
}

/** The profiler leaves out the folder in which packages lie. */
function isLibrary(name: string): boolean {
  return /^(torch|torchvision|numpy|PIL|transformers)\/|^<built-in|^<method|site-packages/.test(name);
}
