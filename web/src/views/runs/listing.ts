// What the table shows of all runs: completed, filtered and sorted as the address says.
import { useCallback, useMemo, useState } from "preact/hooks";
import { useDetails, useRows } from "./feed";
import { chosenRuns, sorted, type Wanted } from "./finding";
import { useLabels, type Labels } from "./labels";
import { differing, listed, type Listed, type Row } from "./rows";
import type { Sort } from "./RunTable";
import type { Window } from "./scrolling";

const MOST_READ_UNSEEN = 300; // logs that are read although their rows are not in sight

export interface Listing {
  all: readonly Listed[] | null;
  shown: readonly Listed[];
  /** Those in which the runs differ. */
  hparams: readonly string[];
  /** How many rows are not read yet. */
  pending: number;
  error: string | null;
  labels: Labels;
  onSight: (window: Window) => void;
}

export function useListing(wanted: Wanted, sort: Sort): Listing {
  const labels = useLabels();
  const { rows, pending, error } = useRows(labels.edits);
  const [inSight, setInSight] = useState<readonly string[]>([]);
  const details = useDetails(useMemo(() => inOrderOfNeed(rows ?? [], inSight), [rows, inSight]));
  const all = useMemo(() => rows && rows.map((row) => listed(row, details.get(row.name), labels.of[row.name])), [rows, details, labels.of]);
  const shown = useMemo(() => sorted(chosenRuns(all ?? [], wanted), sort.column, sort.down), [all, ...Object.values(wanted), sort.column, sort.down]);
  const hparams = useMemo(() => differing(all ?? []), [all]);
  const onSight = useCallback(
    ({ first, end }: Window) => {
      const names = shown.slice(first, end).map((run) => run.name);
      setInSight((old) => (old.join("\n") === names.join("\n") ? old : names));
    },
    [shown],
  );
  return { all, shown, hparams, pending, error, labels, onSight };
}

/** Those in sight, then the others where they are few. */
export function inOrderOfNeed(rows: readonly Row[], inSight: readonly string[]): readonly Row[] {
  const seen = new Set(inSight);
  const rest = rows.length <= MOST_READ_UNSEEN ? rows.filter((row) => !seen.has(row.name)) : [];
  return [...rows.filter((row) => seen.has(row.name)), ...rest];
}
