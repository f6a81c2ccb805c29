import { useMemo } from "preact/hooks";
import { varying } from "../../parallel/axes";
import { Parallel, type ParallelRun } from "../../parallel/Parallel";
import { Panel } from "../../pieces/Panel";
import { titleOf, type Listed, type Value } from "./rows";

const MOST_AXES = 7;
const LOSS = "last loss";

/** Which hyperparameters go with which loss: the runs of the table that are known, over parallel axes. */
export function Overview({ runs, hparams }: { runs: readonly Listed[]; hparams: readonly string[] }) {
  const lines = useMemo(() => runs.filter((run) => run.details?.hparams).map((run) => lineOf(run)), [runs]);
  const axes = useMemo(() => [...varying(hparams, lines).slice(0, MOST_AXES), LOSS], [hparams, lines]);
  if (lines.length < 3 || axes.length < 2) return null;
  return (
    <Panel title="Hyperparameters and the loss they ended with" about="One line a run, through its value on each axis. The lower its loss, the bluer the line.">
      <Parallel axes={axes} runs={lines} />
    </Panel>
  );
}

function lineOf(run: Listed): ParallelRun {
  const values: Record<string, Value> = { ...run.details?.hparams, [LOSS]: run.loss ?? null };
  return { name: run.name, title: titleOf(run), values };
}
