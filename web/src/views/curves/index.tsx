import { useEffect, useMemo, useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { isReport } from "../../asking";
import type { Mark, XAxis } from "../../charts/lines";
import { wholeNumber } from "../../charts/numbers";
import { choose } from "../../links";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import { Card, SheetContext, type Sheet } from "./Card";
import { readChoices, writeList, type Choices } from "./choices";
import { Controls } from "./Controls";
import type { MarksAnswer, TagsAnswer } from "./curve_answers";
import { CurveBook } from "./curve_book";
import "./curves.css";
import { filterOf, groupTags, type TagGroup } from "./filtering";
import { useKeptSettings } from "./kept_choices";
import { LargeView, useFocusOnTag } from "./LargeView";
import { useZoomer } from "./zoom";

function Curves({ run, about, version, chosen }: Shown) {
  useKeptSettings(run, chosen);
  const { answer, error } = useAnswer<TagsAnswer>("tags", { run }, version);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the tags" />;
  if (!answer.tags.length)
    return <Empty title="This run has logged no scalars yet.">A loss appears with the first backward(); your own numbers with add_scalar.</Empty>;
  return <Sheets {...{ run, about, version, chosen }} known={answer} />;
}

type SheetsProps = Shown & { known: TagsAnswer };

function Sheets({ run, about, version, chosen, known }: SheetsProps) {
  const choices = useMemo(() => readChoices(chosen), [JSON.stringify(chosen)]);
  const sheet = useSheet(run, about.steps, version, choices, known);
  const filter = useMemo(() => filterOf(choices.filter), [choices.filter]);
  const tags = useMemo(() => known.tags.filter(filter.matches), [known.tags, filter]);
  const groups = useMemo(() => groupTags(tags, known.loss, choices.pinned), [tags, known.loss, chosen.pins]);
  const sections = useMemo(() => groups.map((group) => <GroupSection key={group.name} group={group} closed={choices.closed} alone={known.tags.length === 1} />), [groups, chosen.closed]);
  const place = useFocusOnTag(choices.tag);
  const controls = (filtered: { fault: string | null; shown: number; all: number } | null) => (
    <Controls {...{ run, choices, filtered }} axes={known.axes} zoomed={sheet.zoom.zoomed} onReset={sheet.zoom.showAll} />
  );
  const inside = choices.tag ? (
    <LargeView tag={choices.tag}>{controls(null)}</LargeView>
  ) : (
    <>
      <h1 class="curves-title">Curves</h1>
      {controls({ fault: filter.fault, shown: tags.length, all: known.tags.length })}
      {tags.length ? null : <Empty title="No tag matches the filter.">The filter is a regular expression; an empty one shows all {wholeNumber(known.tags.length)} tags.</Empty>}
      {sections}
    </>
  );
  return (
    <SheetContext.Provider value={sheet}>
      <div class="curves" ref={place}>
        {inside}
      </div>
    </SheetContext.Provider>
  );
}

function useSheet(run: string, steps: number, version: string, choices: Choices, known: TagsAnswer): Sheet {
  const zoom = useZoomer(choices.zooms, choices.apart);
  const [drawn, setDrawn] = useState(false);
  const book = useMemo(() => new CurveBook(() => setDrawn(true)), [run]);
  const runs = useMemo(() => (isReport() ? [run] : [run, ...choices.others.filter((other) => other !== run)]), [run, writeList(choices.others)]);
  const by = runs.length > 1 ? choices.by : "";
  useEffect(() => book.setTerms({ run, runs, x: choices.x, log: choices.logX, by, version }), [book, runs, choices.x, choices.logX, by, version]);
  const found = useAnswer<MarksAnswer>(drawn ? "marks" : null, { run, x: choices.x === "step" ? undefined : choices.x }, version);
  const marks = useMemo(() => marksOf(found.answer), [found.answer]);
  const x = useMemo(() => axisOf(choices.x, known.axes), [choices.x, known.axes]);
  return { book, run, runs, choices, x, marks, loss: known.loss, steps, zoom };
}

function marksOf(found: MarksAnswer | null): Mark[] {
  return (found?.marks ?? []).map(({ x, name, severity }) => ({ x, label: name, colour: severity === "error" ? "--error" : "--warning" }));
}

function axisOf(kind: string, axes: TagsAnswer["axes"]): XAxis {
  const name = axes.find((axis) => axis.kind === kind)?.name ?? kind;
  return { name, kind: kind === "relative" ? "duration" : kind === "time" ? "clock" : "number" };
}

function GroupSection({ group, closed, alone }: { group: TagGroup; closed: ReadonlySet<string>; alone: boolean }) {
  const open = !closed.has(group.name);
  const toggle = () => choose({ closed: writeList(open ? [...closed, group.name] : [...closed].filter((name) => name !== group.name)) });
  return (
    <section class="curves-group">
      <h2>
        <button type="button" aria-expanded={open} onClick={toggle} title={group.name}>
          <span>{group.name}</span> <small>{wholeNumber(group.tags.length)}</small>
        </button>
      </h2>
      {open ? (
        <div class={alone ? "curves-alone" : "curves-grid"}>
          {group.tags.map((tag) => (
            <Card key={tag} tag={tag} large={alone} />
          ))}
        </div>
      ) : null}
    </section>
  );
}

export const view: View = { name: "curves", title: "Curves", place: 20, appears: (about) => (about.tags.scalars ?? 0) > 0, Body: Curves };
