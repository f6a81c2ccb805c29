import { isReport } from "../../asking";
import { choose, writeLink } from "../../links";
import { Select } from "../../pieces/Select";
import { readNames, writeNames } from "../../run_names";
import { Empty } from "../../states";
import type { Shown, View } from "../../views";
import { Pair } from "./Pair";
import { Several } from "./Several";
import "./compare.css";

function Compare({ run, version, chosen }: Shown) {
  const names = readNames(chosen.runs);
  if (isReport()) return <Empty title="This file holds one run.">Open the folder of its runs with torch-debugger view to compare them.</Empty>;
  if (names.length < 2) return <TooFew run={run} names={names} />;
  const [first, second] = pairOf(names, chosen.first, chosen.second);
  return (
    <>
      <div class="compare-head">
        <h1>{names.length === 2 ? "Two runs compared" : `${names.length} runs compared`}</h1>
        <Chooser names={names} first={first} second={second} />
        <a href={tableOf(run, names)}>Choose other runs</a>
      </div>
      {names.length > 2 ? <Several names={names} /> : null}
      <Pair key={`${first}\n${second}`} first={first} second={second} version={version} log={chosen.log === "1"} />
    </>
  );
}

/** The two that are held against each other, of all that were chosen: never one against itself. */
export function pairOf(names: readonly string[], first = "", second = ""): [string, string] {
  const one = names.includes(first) ? first : (names.find((name) => name !== second) ?? "");
  const other = names.includes(second) && second !== one ? second : (names.find((name) => name !== one) ?? "");
  return [one, other];
}

function Chooser({ names, first, second }: { names: readonly string[]; first: string; second: string }) {
  const options = (not: string) => names.filter((name) => name !== not).map((name) => ({ value: name, title: name }));
  if (names.length === 2) return <p class="compare-pair"><b>{first}</b> and <b>{second}</b></p>;
  return (
    <>
      <Select label="Step by step:" options={options(second)} value={first} onChange={(name) => choose({ first: name, second })} />
      <Select label="against" options={options(first)} value={second} onChange={(name) => choose({ first, second: name })} />
    </>
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

export const view: View = { name: "compare", title: "Compare", place: 95, appears: (about) => !isReport() && (about.runs ?? 1) > 1, Body: Compare };
