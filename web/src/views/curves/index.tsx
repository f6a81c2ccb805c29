import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { isReport } from "../../asking";
import type { Mark, XAxis } from "../../charts/lines";
import { wholeNumber } from "../../charts/numbers";
import { useLast } from "../../last_answer";
import { choose } from "../../links";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import { Card, SheetContext, type Sheet } from "./Card";
import { chartGroups, seriesCharts, withCharts, type ChartGroup, type ChartsAnswer, type SharedChart } from "./chart_lines";
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
  const charts = useCharts(run, sheet.runs, version, known);
  const groups = useMemo(() => groupTags(withCharts(tags, charts.series), withCharts(known.loss === null ? [] : [known.loss], charts.series)[0] ?? null, choices.pinned), [tags, known.loss, charts, chosen.pins]);
  const layout = useMemo(() => chartGroups(charts.answer, filter.matches), [charts, filter]);
  const sections = useMemo(
    () => [
      ...layout.map((group) => <ChartSection key={`layout ${group.name}`} group={group} turned={choices.closed} />),
      ...groups.map((group) => <GroupSection key={group.name} group={group} closed={choices.closed} alone={known.tags.length === 1} charts={charts.series} />),
    ],
    [layout, groups, charts, chosen.closed],
  );
  const open = useMemo(() => charts.series.get(choices.tag) ?? chartGroups(charts.answer, () => true).flatMap((group) => group.charts).find((chart) => chart.key === choices.tag), [charts, choices.tag]);
  const place = useFocusOnTag(choices.tag);
  const controls = (filtered: { fault: string | null; shown: number; all: number } | null) => (
    <Controls {...{ run, choices, filtered }} axes={known.axes} zoomed={sheet.zoom.zoomed} onReset={sheet.zoom.showAll} />
  );
  const inside = choices.tag ? (
    <LargeView tag={choices.tag} chart={open}>{controls(null)}</LargeView>
  ) : (
    <>
      <h1 class="curves-title">Curves</h1>
      {controls({ fault: filter.fault, shown: tags.length, all: known.tags.length })}
      {tags.length || layout.length ? null : <Empty title="No tag matches the filter.">The filter is a regular expression; an empty one shows all {wholeNumber(known.tags.length)} tags.</Empty>}
      {charts.asking ? <Waiting what="the charts" /> : sections}
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

interface Charts {
  answer: ChartsAnswer | null;
  /** Of add_scalars, by what stands in for their tags. */
  series: ReadonlyMap<string, SharedChart>;
  /** Nothing is known yet: single curves would be drawn and taken away again. */
  asking: boolean;
}

function useCharts(run: string, runs: string[], version: string, known: TagsAnswer): Charts {
  const { answer: now, error } = useAnswer<ChartsAnswer>("scalar_charts", runs.length > 1 ? { runs: writeList(runs) } : { run }, version);
  const answer = useLast(now);
  return useMemo(() => ({ answer, series: seriesCharts(answer, known.tags), asking: answer === null && error === null }), [answer, error, known.tags]);
}

function marksOf(found: MarksAnswer | null): Mark[] {
  return (found?.marks ?? []).map(({ x, name, severity }) => ({ x, label: name, colour: severity === "error" ? "--error" : "--warning" }));
}

function axisOf(kind: string, axes: TagsAnswer["axes"]): XAxis {
  const name = axes.find((axis) => axis.kind === kind)?.name ?? kind;
  return { name, kind: kind === "relative" ? "duration" : kind === "time" ? "clock" : "number" };
}

interface GroupProps {
  group: TagGroup;
  closed: ReadonlySet<string>;
  alone: boolean;
  charts: ReadonlyMap<string, SharedChart>;
}

function GroupSection({ group, closed, alone, charts }: GroupProps) {
  return (
    <Section name={group.name} count={group.tags.length} open={!closed.has(group.name)} turnedKey={group.name} turned={closed} alone={alone}>
      {group.tags.map((tag) => (
        <Card key={tag} tag={tag} large={alone} chart={charts.get(tag)} />
      ))}
    </Section>
  );
}

/** A category of add_custom_scalars, which says itself whether it is open at first. */
function ChartSection({ group, turned }: { group: ChartGroup; turned: ReadonlySet<string> }) {
  const key = `layout ${group.name}`;
  return (
    <Section name={group.name} count={group.charts.length} open={turned.has(key) === group.closed} turnedKey={key} turned={turned} alone={false}>
      {group.charts.map((chart) => (
        <Card key={chart.key} tag={chart.key} chart={chart} />
      ))}
    </Section>
  );
}

interface SectionProps {
  name: string;
  count: number;
  open: boolean;
  /** What stands in the address when it was opened or closed by the reader. */
  turnedKey: string;
  turned: ReadonlySet<string>;
  alone: boolean;
  children: ComponentChildren;
}

function Section({ name, count, open, turnedKey, turned, alone, children }: SectionProps) {
  const toggle = () => choose({ closed: writeList(turned.has(turnedKey) ? [...turned].filter((each) => each !== turnedKey) : [...turned, turnedKey]) });
  return (
    <section class="curves-group">
      <h2>
        <button type="button" aria-expanded={open} onClick={toggle} title={name}>
          <span>{name}</span> <small>{wholeNumber(count)}</small>
        </button>
      </h2>
      {open ? <div class={alone ? "curves-alone" : "curves-grid"}>{children}</div> : null}
    </section>
  );
}

export const view: View = { name: "curves", title: "Curves", place: 20, appears: (about) => (about.tags.scalars ?? 0) > 0, Body: Curves };
