// Which runs are shown, and in which order.
import { toNumber, type Num } from "../../answers";
import { titleOf, type Listed, type Value } from "./rows";

export interface Wanted {
  text: string;
  severity: string;
  status: string;
  tag: string;
}

/** A pattern as typed; one that is broken counts as plain text, with a word about it. */
export function patternOf(text: string): { matches: (what: string) => boolean; problem: string | null } {
  try {
    const pattern = new RegExp(text, "im");
    return { matches: (what) => pattern.test(what), problem: null };
  } catch {
    const plain = text.toLowerCase();
    return { matches: (what) => what.toLowerCase().includes(plain), problem: "Not a valid pattern: searched for as plain text." };
  }
}

export function chosenRuns(runs: readonly Listed[], { text, severity, status, tag }: Wanted): Listed[] {
  const { matches } = patternOf(text);
  return runs.filter(
    (run) =>
      (text === "" || matches(wordsOf(run))) &&
      (severity === "" || severity === (run.severity ?? "none")) &&
      (status === "" || status === run.status) &&
      (tag === "" || run.label.tags?.includes(tag)),
  );
}

function wordsOf(run: Listed): string {
  const hparams = Object.entries({ ...run.details?.hparams, ...run.details?.hparam_metrics }).map(([name, value]) => `${name}=${value}`);
  return [run.name, run.label.name, ...(run.label.tags ?? []), run.label.note, run.verdict, run.message, ...hparams].join("\n");
}

const SEVERITIES = ["error", "warning", "note"];

/** What a column is sorted by. */
export function keyOf(run: Listed, column: string): Value | undefined {
  if (column.startsWith("hparam:")) return run.details?.hparams?.[column.slice(7)];
  if (column.startsWith("metric:")) return asKey(run.details?.hparam_metrics?.[column.slice(7)]);
  if (column === "name") return titleOf(run);
  if (column === "verdict") return run.severity ? SEVERITIES.indexOf(run.severity) : SEVERITIES.length;
  if (column === "loss") return asKey(run.loss);
  const plain: Partial<Record<string, Value | undefined>> = { changed: run.changed, size: run.size_bytes, status: run.status, steps: run.steps, duration: run.duration_s };
  return plain[column];
}

/** A loss that is not a number is worse than any number; one that is not known comes last. */
function asKey(loss: Num | undefined): number | null {
  if (loss === null || loss === undefined) return null;
  const value = toNumber(loss);
  return Number.isNaN(value) ? Infinity : value;
}

const inOrder = new Intl.Collator("en", { numeric: true });

export function sorted(runs: readonly Listed[], column: string, down: boolean): Listed[] {
  const keyed = runs.map((run) => ({ run, key: keyOf(run, column) ?? null }));
  keyed.sort((one, other) => {
    if (one.key === null || other.key === null) return Number(one.key === null) - Number(other.key === null);
    const order = typeof one.key === "number" && typeof other.key === "number" ? one.key - other.key : inOrder.compare(String(one.key), String(other.key));
    return Number.isNaN(order) ? 0 : down ? -order : order;
  });
  return keyed.map(({ run }) => run);
}
