import { useMemo } from "preact/hooks";
import { varying } from "../../parallel/axes";
import { Parallel, type ParallelRun } from "../../parallel/Parallel";
import { Panel } from "../../pieces/Panel";
import { Waiting } from "../../states";
import { useDetails, useRows } from "../runs/feed";
import { differing, listed, type Listed, type Value } from "../runs/rows";

const MOST_HPARAMS = 7;
const MOST_METRICS = 3;

/** More than two runs: their hyperparameters and what they ended with, over parallel axes. */
export function Several({ names, titleOf }: { names: readonly string[]; titleOf: (name: string) => string }) {
  const { rows } = useRows();
  const wanted = useMemo(() => (rows ?? []).filter((row) => names.includes(row.name)), [rows, names.join("\n")]);
  const details = useDetails(wanted);
  const runs = useMemo(() => wanted.map((row) => listed(row, details.get(row.name), undefined)), [wanted, details]);
  const lines = useMemo(() => runs.map((run) => lineOf(run, titleOf(run.name), names.indexOf(run.name))), [runs, titleOf]);
  const axes = useMemo(() => axesOf(runs, lines), [runs, lines]);
  if (!runs.every((run) => run.details)) return <Waiting what="the runs" />;
  return (
    <Panel title="Hyperparameters and what the runs ended with" about={axes.hparams ? "One line a run, through its value on each axis, in its colour of the loss below." : "The logs of these runs tell of no hyperparameter in which they differ."}>
      {axes.all.length ? <Parallel axes={axes.all} runs={lines} /> : null}
    </Panel>
  );
}

function axesOf(runs: readonly Listed[], lines: readonly ParallelRun[]): { all: string[]; hparams: number } {
  const hparams = differing(runs).slice(0, MOST_HPARAMS);
  const metrics = [...new Set(runs.flatMap((run) => Object.keys(run.details?.metrics ?? {})))].filter((tag) => runs.some((run) => run.details?.loss_tag !== tag));
  return { all: [...hparams, ...varying(metrics.map(last), lines).slice(0, MOST_METRICS), ...varying(["last loss"], lines)], hparams: hparams.length };
}

function lineOf(run: Listed, title: string, colour: number): ParallelRun {
  const metrics = Object.entries(run.details?.metrics ?? {}).map(([tag, value]): [string, Value] => [last(tag), value]);
  return { name: run.name, title, colour, values: { ...run.details?.hparams, ...Object.fromEntries(metrics), "last loss": run.loss ?? null } };
}

function last(tag: string): string {
  return `last ${tag}`;
}
