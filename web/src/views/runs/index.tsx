import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isReport } from "../../asking";
import { choose, goTo } from "../../links";
import { Button } from "../../pieces/Button";
import { readNames, writeNames } from "../../run_names";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import { shownColumns, useWishes } from "./choosing";
import { ColumnChooser } from "./ColumnChooser";
import { columnsFor } from "./columns";
import { EditDialog } from "./EditDialog";
import { Filters } from "./Filters";
import { useListing, type Listing } from "./listing";
import { Overview } from "./Overview";
import { constant, metricsOf, titleOf, type Listed } from "./rows";
import { keepWord, keptWord, type EditWord } from "./edit_word";
import { RunTable, type Sort } from "./RunTable";
import { footnote, summary } from "./words";
import "./runs.css";

const FALLS_FIRST = new Set(["changed", "steps", "duration", "size"]);
const NO_FILTER = { q: undefined, severity: undefined, status: undefined, tag: undefined };

function Runs({ run, chosen }: Shown) {
  const sort = { column: chosen.sort ?? "changed", down: (chosen.sort ? chosen.down : "1") === "1" };
  const wanted = { text: chosen.q ?? "", severity: chosen.severity ?? "", status: chosen.status ?? "", tag: chosen.tag ?? "" };
  const listing = useListing(wanted, sort);
  const { all, shown, hparams, error } = listing;
  if (all === null) return error ? <Problem text={error} /> : <Waiting what="the runs" />;
  const selected = readNames(chosen.runs);
  return (
    <>
      <div class="runs-head">
        <h1>Runs</h1>
        <p class="quiet">{summary(all, listing.pending)}</p>
        <Selection run={run} selected={selected} />
      </div>
      <Filters wanted={wanted} all={all} shown={shown.length} />
      {error ? <Problem text={`${error} The table shows what was known before.`} /> : null}
      {shown.length ? <Lines run={run} listing={listing} sort={sort} selected={selected} /> : <NoMatch />}
      <p class="runs-foot quiet">{footnote(all)}</p>
      <Overview runs={shown} hparams={hparams} />
    </>
  );
}

function Lines({ run, listing, sort, selected }: { run: string; listing: Listing; sort: Sort; selected: readonly string[] }) {
  const [edited, setEdited] = useState<Listed | null>(null);
  const [word, setWord] = useState<EditWord | null>(keptWord);
  const [wishes, wish, forget] = useWishes();
  const box = useRef<HTMLDivElement>(null);
  const { labels, shown, all } = listing;
  const every = useMemo(() => columnsFor([...listing.hparams, ...constant(all ?? [])], metricsOf(all ?? [])), [all, listing.hparams]);
  const columns = useMemo(() => shownColumns(every, all ?? [], wishes), [every, wishes]);
  useEffect(() => {
    if (word?.deleted) box.current?.focus(); // the row that had the focus goes
  }, [word]);
  const turn = (column: string) => choose({ sort: column, down: (sort.column === column ? !sort.down : FALLS_FIRST.has(column)) ? "1" : "0" });
  const select = (name: string, on: boolean) => choose({ runs: writeNames(on ? [...selected, name] : selected.filter((each) => each !== name)) });
  const done = (deleted: boolean) => {
    if (!edited) return;
    const told = { text: deleted ? `${titleOf(edited)} is deleted.` : `What you wrote on ${titleOf(edited)} is saved.`, deleted };
    setWord(told);
    if (deleted) {
      if (edited.name === run) keepWord(told); // the page of another run is opened, which begins anew
      const other = edited.name === run ? shown.find((each) => each.name !== run)?.name : run; // the frame shows it no more
      choose({ runs: writeNames(selected.filter((each) => each !== edited.name)), run: other });
    }
    setEdited(null);
    labels.again?.();
  };
  return (
    <>
      <ColumnChooser all={every} shown={columns} onWish={wish} onForget={forget} />
      <p class="runs-word" role="status">
        {word?.text}
      </p>
      <RunTable box={box} runs={shown} columns={columns} sort={sort} onSort={turn} selected={new Set(selected)} onSelect={select} onEdit={labels.again ? setEdited : undefined} onSight={listing.onSight} />
      {edited ? <EditDialog run={edited} onClose={() => setEdited(null)} onDone={done} /> : null}
    </>
  );
}

function Selection({ run, selected }: { run: string; selected: readonly string[] }) {
  const compare = () => goTo({ view: "compare", parameters: { run, runs: writeNames(selected) } });
  return (
    <>
      <Button onClick={compare} disabled={selected.length < 2}>
        {selected.length < 2 ? "Select two or more to compare" : `Compare ${selected.length} runs`}
      </Button>
      {selected.length ? <Button onClick={() => choose({ runs: undefined })}>Clear the selection</Button> : null}
    </>
  );
}

function NoMatch() {
  return (
    <Empty title="No run matches.">
      <Button onClick={() => choose(NO_FILTER)}>Show all runs</Button>
    </Empty>
  );
}

export const view: View = { name: "runs", title: "Runs", place: 90, appears: (about) => (about.runs ?? 0) > (isReport() ? 1 : 0), Body: Runs };
