import { useMemo } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { isReport } from "../../asking";
import type { Names } from "../../frame/runs";
import { choose, writeLink } from "../../links";
import { Select } from "../../pieces/Select";
import { readNames, writeNames } from "../../run_names";
import { Empty } from "../../states";
import type { Shown, View } from "../../views";
import { useLabels } from "../runs/labels";
import { titlesOf } from "./comparison";
import { Pair } from "./Pair";
import { Several } from "./Several";
import "./compare.css";

function Compare({ run, chosen }: Shown) {
  const inFile = useAnswer<Names>(isReport() ? "names" : null).answer?.runs ?? [];
  const named = readNames(chosen.runs);
  const names = named.length < 2 && isReport() ? inFile : named;
  if (names.length < 2) return <TooFew run={run} names={names} />;
  return <Chosen run={run} names={names} pair={pairOf(names, chosen.first, chosen.second)} log={chosen.log === "1"} />;
}

function Chosen({ run, names, pair: [first, second], log }: { run: string; names: readonly string[]; pair: [string, string]; log: boolean }) {
  const { of } = useLabels();
  const titleOf = useMemo(() => titlesOf(names, of), [names.join("\n"), of]);
  return (
    <>
      <div class="compare-head">
        <h1>{names.length === 2 ? "Two runs compared" : `${names.length} runs compared`}</h1>
        {names.length === 2 ? <Both first={first} second={second} titleOf={titleOf} /> : null}
        <a href={tableOf(run, names)}>Choose other runs</a>
      </div>
      {names.length > 2 ? <Several names={names} titleOf={titleOf} /> : null}
      {names.length > 2 ? <Chooser names={names} first={first} second={second} titleOf={titleOf} /> : null}
      <Pair key={`${first}\n${second}`} first={first} second={second} names={names} titleOf={titleOf} log={log} />
    </>
  );
}

/** The two that are held against each other, of all that were chosen: never one against itself. */
export function pairOf(names: readonly string[], first = "", second = ""): [string, string] {
  const one = names.includes(first) ? first : (names.find((name) => name !== second) ?? "");
  const other = names.includes(second) && second !== one ? second : (names.find((name) => name !== one) ?? "");
  return [one, other];
}

interface Named {
  first: string;
  second: string;
  titleOf: (name: string) => string;
}

function Both({ first, second, titleOf }: Named) {
  return (
    <p class="compare-pair">
      <b title={first}>{titleOf(first)}</b> and <b title={second}>{titleOf(second)}</b>
    </p>
  );
}

/** Of several runs the two that all below is about. */
function Chooser({ names, first, second, titleOf }: Named & { names: readonly string[] }) {
  const options = (not: string) => names.filter((name) => name !== not).map((name) => ({ value: name, title: titleOf(name) }));
  return (
    <div class="compare-head compare-two">
      <h2>
        {titleOf(first)} and {titleOf(second)}, step by step
      </h2>
      <Select label="Choose others:" options={options(second)} value={first} onChange={(name) => choose({ first: name, second })} />
      <Select label="against" options={options(first)} value={second} onChange={(name) => choose({ first, second: name })} />
    </div>
  );
}

function TooFew({ run, names }: { run: string; names: readonly string[] }) {
  return (
    <Empty title="Choose two or more runs to compare.">
      <p>
        <a href={tableOf(run, names.length ? names : [run])}>Select them in the table of runs</a>, then press Compare. This run is selected already.
      </p>
    </Empty>
  );
}

function tableOf(run: string, names: readonly string[]): string {
  return writeLink({ view: "runs", parameters: { run, runs: writeNames(names) } });
}

export const view: View = { name: "compare", title: "Compare", place: 95, appears: (about) => (about.runs ?? 1) > 1, Body: Compare };
