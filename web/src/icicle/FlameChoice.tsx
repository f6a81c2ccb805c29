import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { Choice } from "../pieces/Choice";
import { Panel } from "../pieces/Panel";
import type { Node } from "./cells";
import { Icicle } from "./Icicle";

const WAYS = [
  { value: "icicle", title: "Icicle", hint: "From the top down: a function stands below the one that called it" },
  { value: "flame", title: "Flame graph", hint: "From the bottom up: a function stands on the one that called it" },
] as const;

interface Props {
  title: string;
  label: string;
  root: Node;
  about?: string;
  tools?: ComponentChildren;
}

/** A tree of calls either way up. */
export function FlameChoice({ title, label, root, about, tools }: Props) {
  const [way, setWay] = useState<"icicle" | "flame">("flame");
  const both = (
    <>
      {tools}
      <Choice label="Drawn as" quiet options={WAYS} value={way} onChange={setWay} />
    </>
  );
  return (
    <Panel title={title} tools={both} about={about}>
      <Icicle root={root} label={label} upwards={way === "flame"} />
    </Panel>
  );
}
