import { useMemo } from "preact/hooks";
import { Parallel, type ParallelRun } from "../../parallel/Parallel";
import { Panel } from "../../pieces/Panel";
import { Waiting } from "../../states";
import { useDetails, useRows } from "../runs/feed";
import { differing, listed, titleOf, type Listed, type Value } from "../runs/rows";

const MOST_HPARAMS = 7;
const MOST_METRICS = 3;

/** More than two runs: their hyperparameters and what they ended with, over parallel axes. */
export function Several({ names }: { names: readonly string[] }) {
  const { rows } = useRows();
  const wanted = useMemo(() => (rows ?? []).filter((row) => names.includes(row.name)), [rows, names.join("\n")]);
  const details = useDetails(wanted);
  const runs = useMemo(() => wanted.map((row) => listed(row, details.get(row.name), undefined)), [wanted, details]);
  const axes = useMemo(() => axesOf(runs), [runs]);
  if (!runs.every((run) => run.details)) return <Waiting what="the runs" />;
  return (
    <Panel title="Hyperparameters and what the runs ended with" about={axes.hparams ? "One line a run, through its value on each axis; coloured by the last axis." : "The logs of these runs tell of no hyperparameter in which they differ."}>
      <Parallel axes={axes.all} runs={runs.map(lineOf)} />
    </Panel>
  );
}

function axesOf(runs: readonly Listed[]): { all: string[]; hparams: number } {
  const hparams = differing(runs).slice(0, MOST_HPARAMS);
  const metrics = [...new Set(runs.flatMap((run) => Object.keys(run.details?.metrics ?? {})))].filter((tag) => runs.some((run) => run.details?.loss_tag !== tag));
  return { all: [...hparams, ...metrics.slice(0, MOST_METRICS).map(last), "last loss"], hparams: hparams.length };
}

function lineOf(run: Listed): ParallelRun {
  const metrics = Object.entries(run.details?.metrics ?? {}).map(([tag, value]): [string, Value] => [last(tag), value]);
  return { name: run.name, title: titleOf(run), values: { ...run.details?.hparams, ...Object.fromEntries(metrics), "last loss": run.loss ?? null } };
}

function last(tag: string): string {
  return `last ${tag}`;
}
