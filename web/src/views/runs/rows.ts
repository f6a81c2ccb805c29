// A line of the table of runs: what its result file says, completed by its log and by what the reader wrote on it.
import type { About, Finding, Num } from "../../answers";
import type { SmallCurve } from "../../pieces/Sparkline";

export type Value = boolean | number | string | null;

/** /ask/runs: the newest first. */
export interface Row {
  name: string;
  changed: number;
  size_bytes: number;
  /** null: not read yet */
  status: About["status"] | null;
  /** null: there is no result file, so all that follows is not known from it */
  steps?: number | null;
  duration_s?: number | null;
  loss?: Num;
  verdict?: string | null;
  severity?: Finding["severity"] | null;
  message?: string | null;
}

/** /ask/run_details */
export interface Details {
  status?: About["status"];
  steps?: number;
  watched?: boolean;
  hparams?: Record<string, Value>;
  seeds?: Record<string, number>;
  loss_tag?: string | null;
  curve?: SmallCurve | null;
  metrics?: Record<string, Num>;
  verdict?: string;
  severity?: Finding["severity"];
  message?: string;
  too_large?: boolean;
  fault?: string;
}

/** /ask/labels: what the reader calls a run, kept on this machine. */
export interface Label {
  name?: string;
  tags?: string[];
  note?: string;
}

export interface Listed extends Row {
  details: Details | undefined;
  label: Label;
}

export function listed(row: Row, details: Details | undefined, label: Label | undefined): Listed {
  const whole = { ...row, details, label: label ?? {} };
  if (!details || row.steps !== null) return whole;
  const last = details.curve?.values[details.curve.values.length - 1] ?? null;
  return {
    ...whole,
    status: details.status ?? row.status,
    steps: details.steps ?? null,
    loss: last,
    verdict: details.verdict ?? null,
    severity: details.severity ?? null,
    message: details.message ?? null,
  };
}

/** What a run is called here: by the reader's own name for it, else by its folder. */
export function titleOf(run: Listed): string {
  return run.label.name || run.name;
}

const LONGEST_REPEATED = /^.*\./;

/** The hyperparameters that are not the same in all runs; one that only repeats another under a longer name is left out. */
export function differing(runs: readonly Listed[]): string[] {
  const all = runs.flatMap((run) => (run.details?.hparams ? [run.details.hparams] : []));
  const found = new Map<string, string>();
  for (const name of new Set(all.flatMap((each) => Object.keys(each)))) {
    const values = all.map((each) => JSON.stringify(each[name] ?? null));
    const key = [name.replace(LONGEST_REPEATED, ""), ...values].join("\n");
    if (new Set(values).size > 1 && !found.has(key)) found.set(key, name);
  }
  return [...found.values()];
}
