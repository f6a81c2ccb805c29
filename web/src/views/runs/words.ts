// The table's sentences.
import { count } from "../../pieces/numbers";
import type { Listed } from "./rows";

/** 12 runs, 3 with an error, 1 running. */
export function summary(all: readonly Listed[], pending: number): string {
  const errors = all.filter((run) => run.severity === "error").length;
  const running = all.filter((run) => run.status === "running").length;
  const parts = [count(all.length, "run"), errors ? `${errors.toLocaleString("en-US")} with an error` : "", running ? `${running} running` : "", pending ? `reading ${pending.toLocaleString("en-US")} more` : ""];
  return `${parts.filter(Boolean).join(", ")}.`;
}

/** What of the hyperparameters is not known yet, and why. */
export function footnote(all: readonly Listed[]): string {
  const known = all.filter((run) => run.details).length;
  if (known === all.length) return "";
  return `Hyperparameters and curves are read as rows come into sight: of ${known.toLocaleString("en-US")} of ${count(all.length, "run")} so far; sorting by them puts the others last.`;
}
