import { useMemo } from "preact/hooks";
import { Icicle } from "../../icicle/Icicle";
import { choose } from "../../links";
import { number } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Select } from "../../pieces/Select";
import { nodeOf, type Sampled } from "./timing";

const ENOUGH = 100; // samples, for shares that can be trusted to some percent

/** Where Python was, asked again and again: the user's lines below each other, and what libraries did under them. */
export function SampledLines({ sampled, chosen }: { sampled: readonly Sampled[]; chosen: string | undefined }) {
  const shown = sampled.find((each) => each.who === chosen) ?? sampled[0]!;
  const root = useMemo(() => nodeOf(shown.root, shown.period_s), [shown]);
  const options = sampled.map((each) => ({ value: each.who, title: each.name }));
  const tools = sampled.length > 1 ? <Select label="Of" value={shown.who} options={options} onChange={(who) => choose({ stacks: who })} /> : undefined;
  const few = shown.root.samples < ENOUGH ? ` There are only ${number(shown.root.samples)} samples yet: take the shares as rough.` : "";
  return (
    <Panel
      title="Where Python was"
      tools={tools}
      about={`Asked up to fifty times a second while the training ran; a line's share of the answers is its share of the time. A line stands below the one that called it. What libraries did is in italics, by function, below the line that led there.${few}`}
    >
      <Icicle key={shown.who} root={root} label={`Where Python was: ${shown.name}`} />
    </Panel>
  );
}
