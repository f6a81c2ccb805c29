import { useMemo, useState } from "preact/hooks";
import { isReport } from "../../asking";
import { choose, goTo } from "../../links";
import { Button } from "../../pieces/Button";
import { count } from "../../pieces/numbers";
import { readNames, writeNames } from "../../run_names";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import { columnsFor } from "./columns";
import { EditDialog } from "./EditDialog";
import { useDetails, useRows } from "./feed";
import { Filters } from "./Filters";
import { chosenRuns, sorted } from "./finding";
import { useLabels } from "./labels";
import { Overview } from "./Overview";
import { differing, listed, type Listed, type Row } from "./rows";
import { RunTable } from "./RunTable";
import type { Window } from "./scrolling";
import "./runs.css";

const MOST_HPARAMS = 8; // as columns
const MOST_READ_UNSEEN = 300; // logs that are read although their rows are not in sight
const FALLS_FIRST = new Set(["changed", "steps", "duration", "size"]);

function Runs({ run, chosen }: Shown) {
  const labels = useLabels();
  const feed = useRows(labels.edits);
  const [edited, setEdited] = useState<Listed | null>(null);
  const sort = { column: chosen.sort ?? "changed", down: (chosen.sort ? chosen.down : "1") === "1" };
  const wanted = { text: chosen.q ?? "", severity: chosen.severity ?? "", status: chosen.status ?? "", tag: chosen.tag ?? "" };
  const [inSight, setInSight] = useState<readonly string[]>([]);
  const details = useDetails(useMemo(() => inOrderOfNeed(feed.rows ?? [], inSight), [feed.rows, inSight]));
  const all = useMemo(() => (feed.rows ?? []).map((row) => listed(row, details.get(row.name), labels.of[row.name])), [feed.rows, details, labels.of]);
  const shown = useMemo(() => sorted(chosenRuns(all, wanted), sort.column, sort.down), [all, ...Object.values(wanted), sort.column, sort.down]);
  const hparams = useMemo(() => differing(all), [all]);
  const columns = useMemo(() => columnsFor(hparams.slice(0, MOST_HPARAMS)), [hparams.slice(0, MOST_HPARAMS).join("\n")]);
  const selected = readNames(chosen.runs);
  if (isReport()) return <Empty title="This file holds one run.">Open the folder of its runs with torch-debugger view to see them side by side.</Empty>;
  if (feed.rows === null) return feed.error ? <Problem text={feed.error} /> : <Waiting what="the runs" />;
  const look = (window: Window) => {
    const names = shown.slice(window.first, window.end).map((each) => each.name);
    setInSight((old) => (old.join("\n") === names.join("\n") ? old : names));
  };
  const select = (name: string, on: boolean) => choose({ runs: writeNames(on ? [...selected, name] : selected.filter((each) => each !== name)) });
  const turn = (column: string) => choose({ sort: column, down: (sort.column === column ? !sort.down : FALLS_FIRST.has(column)) ? "1" : "0" });
  return (
    <>
      <div class="runs-head">
        <h1>Runs</h1>
        <p class="quiet">{summary(all, feed.pending)}</p>
        <Button onClick={() => goTo({ view: "compare", parameters: { run, runs: writeNames(selected) } })} disabled={selected.length < 2}>
          {selected.length < 2 ? "Select two or more to compare" : `Compare ${selected.length} runs`}
        </Button>
        {selected.length ? <Button onClick={() => choose({ runs: undefined })}>Clear the selection</Button> : null}
      </div>
      <Filters wanted={wanted} all={all} shown={shown.length} />
      {feed.error ? <Problem text={`${feed.error} The table shows what was known before.`} /> : null}
      {shown.length ? (
        <RunTable runs={shown} columns={columns} sort={sort} onSort={turn} selected={new Set(selected)} onSelect={select} onEdit={labels.again ? setEdited : undefined} onSight={look} />
      ) : (
        <Empty title="No run matches.">
          <Button onClick={() => choose({ q: undefined, severity: undefined, status: undefined, tag: undefined })}>Show all runs</Button>
        </Empty>
      )}
      <p class="runs-foot quiet">{aboutHparams(all, hparams)}</p>
      <Overview runs={shown} hparams={hparams} />
      {edited ? <EditDialog run={edited} onClose={() => setEdited(null)} onDone={() => (setEdited(null), labels.again?.())} /> : null}
    </>
  );
}

/** Those in sight, then the others where they are few. */
function inOrderOfNeed(rows: readonly Row[], inSight: readonly string[]): readonly Row[] {
  const seen = new Set(inSight);
  const rest = rows.length <= MOST_READ_UNSEEN ? rows.filter((row) => !seen.has(row.name)) : [];
  return [...rows.filter((row) => seen.has(row.name)), ...rest];
}

function summary(all: readonly Listed[], pending: number): string {
  const errors = all.filter((run) => run.severity === "error").length;
  const running = all.filter((run) => run.status === "running").length;
  const parts = [count(all.length, "run"), errors ? `${errors} with an error` : "", running ? `${running} running` : "", pending ? `reading ${pending.toLocaleString("en-US")} more` : ""];
  return `${parts.filter(Boolean).join(", ")}.`;
}

function aboutHparams(all: readonly Listed[], hparams: readonly string[]): string {
  const known = all.filter((run) => run.details).length;
  const read = known < all.length ? `Hyperparameters and curves are read as rows come into sight: ${known.toLocaleString("en-US")} of ${count(all.length, "run")} so far; sorting by them puts the others last. ` : "";
  const more = hparams.slice(MOST_HPARAMS);
  const left = more.length ? `Also different, without a column: ${more.slice(0, 12).join(", ")}${more.length > 12 ? ", …" : ""}.` : "";
  return read + left;
}

export const view: View = { name: "runs", title: "Runs", place: 90, appears: (about) => !isReport() && (about.runs ?? 1) > 0, Body: Runs };
