import { useMemo, useState } from "preact/hooks";
import { varying } from "../../parallel/axes";
import { Parallel, type ParallelRun } from "../../parallel/Parallel";
import { Panel } from "../../pieces/Panel";
import { Select } from "../../pieces/Select";
import { metricsOf, metricTitle, titleOf, type Listed, type Value } from "./rows";

const MOST_AXES = 7;
const LOSS = "last loss";

/** Which hyperparameters go with which metric or loss: the runs of the table that are known, over parallel axes. */
export function Overview({ runs, hparams }: { runs: readonly Listed[]; hparams: readonly string[] }) {
  const [wanted, setWanted] = useState("");
  const known = useMemo(() => runs.filter((run) => run.details?.hparams), [runs]);
  const results = useMemo(() => resultsOf(known, hparams), [known, hparams]);
  const lines = useMemo(() => known.map((run) => lineOf(run, results)), [known, results]);
  const names = [...results.keys()];
  const last = names.includes(wanted) ? wanted : names[0];
  const settings = useMemo(() => varying(hparams, lines).slice(0, MOST_AXES), [hparams, lines]);
  if (last === undefined || lines.length < 3 || !settings.length) return null;
  const axes = [...settings, ...names.filter((name) => name !== last), last];
  return (
    <Panel
      title={last === LOSS ? "Hyperparameters and the loss they ended with" : "Hyperparameters and their metrics"}
      about={`One line a run, through its value on each axis. The lower its ${last}, the bluer the line.`}
      tools={names.length > 1 ? <Select label="Colour by" value={last} options={names.map((name) => ({ value: name, title: name }))} onChange={setWanted} /> : null}
    >
      <Parallel axes={axes} runs={lines} />
    </Panel>
  );
}

/** What the axes at the right are called, and the metric that each of them shows; the loss has none. What most runs
 *  have comes first. */
function resultsOf(runs: readonly Listed[], hparams: readonly string[]): Map<string, string> {
  const known = (tag: string) => runs.filter((run) => run.details?.hparam_metrics?.[tag] !== undefined).length;
  const tags = metricsOf(runs).sort((one, other) => known(other) - known(one)).slice(0, MOST_AXES);
  const results = new Map(tags.map((tag) => [metricTitle(tag, [...hparams, ...tags]), tag]));
  if (runs.some((run) => run.loss !== null && run.loss !== undefined)) results.set(LOSS, "");
  return results;
}

function lineOf(run: Listed, results: ReadonlyMap<string, string>): ParallelRun {
  const metrics = run.details?.hparam_metrics ?? {};
  const ends = [...results].map(([name, tag]): [string, Value] => [name, name === LOSS ? (run.loss ?? null) : (metrics[tag] ?? null)]);
  const values: Record<string, Value> = { ...run.details?.hparams, ...Object.fromEntries(ends) };
  return { name: run.name, title: titleOf(run), values };
}
