// Which columns the table has: what differs between the runs; the rest when it is asked for, which this browser keeps.
import { useState } from "preact/hooks";
import type { RunColumn } from "./columns";
import { keyOf } from "./finding";
import type { Listed } from "./rows";

/** By the column's key: on or off by the reader's own wish. */
export type Wishes = Readonly<Record<string, boolean>>;

const KEY = "torch-debugger columns of runs";
/** What a table of runs is for: always there. */
export const FIXED: ReadonlySet<string> = new Set(["name", "verdict"]);
const USUAL = new Set(["loss", "curve"]);
const MOST_HPARAMS = 8; // without a wish

export function shownColumns(all: readonly RunColumn[], runs: readonly Listed[], wishes: Wishes): RunColumn[] {
  const hparams = all.filter((column) => column.key.startsWith("hparam:") && differs(column, runs)).slice(0, MOST_HPARAMS);
  return all.filter((column) => FIXED.has(column.key) || (wishes[column.key] ?? isUsual(column, runs, hparams)));
}

function isUsual(column: RunColumn, runs: readonly Listed[], hparams: readonly RunColumn[]): boolean {
  if (USUAL.has(column.key) || column.key.startsWith("metric:")) return true;
  return column.key.startsWith("hparam:") ? hparams.includes(column) : runs.length < 2 || differs(column, runs);
}

function differs(column: RunColumn, runs: readonly Listed[]): boolean {
  const values = runs.map((run) => keyOf(run, column.key) ?? null).filter((value) => value !== null);
  return new Set(values).size > 1;
}

export function useWishes(): [Wishes, (key: string, on: boolean) => void, () => void] {
  const [wishes, setWishes] = useState<Wishes>(kept);
  const hold = (next: Wishes) => {
    keep(next);
    setWishes(next);
  };
  return [wishes, (key, on) => hold({ ...wishes, [key]: on }), () => hold({})];
}

function kept(): Wishes {
  try {
    const said: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return typeof said === "object" && said !== null ? Object.fromEntries(Object.entries(said).filter(([, on]) => typeof on === "boolean")) : {};
  } catch {
    return {}; // no storage, or something else wrote there
  }
}

function keep(wishes: Wishes): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(wishes));
  } catch {
    // They then hold until the page is left.
  }
}
