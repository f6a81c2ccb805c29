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
  /** As every view tells it; that of the row is from the first to the last byte of the log. */
  duration_s?: number | null;
  watched?: boolean;
  hparams?: Record<string, Value>;
  seeds?: Record<string, number>;
  loss_tag?: string | null;
  curve?: SmallCurve | null;
  /** The last value of every curve, as far as they are few. */
  metrics?: Record<string, Num>;
  /** Those given to add_hparams, by tag. */
  hparam_metrics?: Record<string, Num>;
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
  const whole = { ...row, duration_s: details?.duration_s ?? row.duration_s ?? null, details, label: label ?? {} };
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

/** Whether the reader has written something on it that stands under its name. */
export function isLabelled(run: Listed): boolean {
  return Boolean(run.label.tags?.length || run.label.note);
}

/** The hyperparameters with several values, those that most runs have first; one that only repeats another under a
 *  longer name (lr, optimizer.lr) is left out. */
export function differing(runs: readonly Listed[]): string[] {
  const all = runs.flatMap((run) => (run.details?.hparams ? [run.details.hparams] : []));
  const known = new Map<string, Map<number, string>>(); // name -> place of the run -> value
  all.forEach((hparams, place) => {
    for (const [name, value] of Object.entries(hparams)) known.set(name, (known.get(name) ?? new Map<number, string>()).set(place, JSON.stringify(value)));
  });
  const varied = [...known].filter(([, values]) => new Set(values.values()).size > 1);
  varied.sort(([one, ours], [other, theirs]) => theirs.size - ours.size || one.length - other.length);
  return varied.filter(([name, values], place) => !varied.slice(0, place).some(([other, theirs]) => lastPart(other) === lastPart(name) && agree(values, theirs))).map(([name]) => name);
}

/** The hyperparameters of which every run that tells them tells the same. */
export function constant(runs: readonly Listed[]): string[] {
  const values = new Map<string, Set<string>>();
  for (const { details } of runs) for (const [name, value] of Object.entries(details?.hparams ?? {})) values.set(name, (values.get(name) ?? new Set<string>()).add(JSON.stringify(value)));
  return [...values].filter(([, each]) => each.size === 1).map(([name]) => name);
}

/** The metrics that any run was given by add_hparams, in the order in which they come. */
export function metricsOf(runs: readonly Listed[]): string[] {
  return [...new Set(runs.flatMap((run) => Object.keys(run.details?.hparam_metrics ?? {})))];
}

/** hparam/accuracy, as torch's example has it, says no more than accuracy, unless something else is called so. */
export function metricTitle(tag: string, names: readonly string[]): string {
  const short = tag.replace(/^hparam\//, "");
  return names.filter((each) => each.replace(/^hparam\//, "") === short).length > 1 ? tag : short;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

function agree(ours: ReadonlyMap<number, string>, theirs: ReadonlyMap<number, string>): boolean {
  return [...ours].every(([place, value]) => !theirs.has(place) || theirs.get(place) === value);
}
