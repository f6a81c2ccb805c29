import { createContext } from "preact";
import { useContext, useMemo, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { Chart } from "../../charts/Chart";
import type { Mark, XAxis } from "../../charts/lines";
import { wholeNumber } from "../../charts/numbers";
import { useCurves } from "./asked_curves";
import { CardHead } from "./CardHead";
import { linesOfChart, tagsOf, type SharedChart } from "./chart_lines";
import type { Choices } from "./choices";
import { extentOf, isWide, linesOf } from "./curve_answers";
import type { CurveBook } from "./curve_book";
import { measuredInWords } from "./measured";
import { useInSight } from "./sight";
import type { Zoomer } from "./zoom";

/** What all cards share. */
export interface Sheet {
  book: CurveBook;
  run: string;
  runs: string[];
  choices: Choices;
  x: XAxis;
  marks: Mark[];
  loss: string | null;
  /** How many steps the run has. */
  steps: number;
  zoom: Zoomer;
}

/** By a context, so that what changes with every zoom reaches the charts in sight and not thousands of empty cards. */
export const SheetContext = createContext<Sheet | null>(null);

interface CardProps {
  tag: string;
  large?: boolean;
  /** Of several tags; `tag` is its key. */
  chart?: SharedChart | undefined;
}

/** One tag, or several in one chart. It is drawn only while it is in sight; its name and its room are always there. */
export function Card({ tag, large = false, chart }: CardProps) {
  const place = useRef<HTMLElement>(null);
  const seen = useInSight(place);
  return (
    <article class={large ? "curves-card curves-large" : "curves-card"} ref={place} tabIndex={-1} aria-label={tag}>
      {seen ? <Filled tag={tag} large={large} chart={chart} /> : <h3 title={tag}>{chart?.title ?? tag}</h3>}
    </article>
  );
}

function Filled({ tag, large, chart }: CardProps & { large: boolean }) {
  const sheet = useContext(SheetContext)!;
  const { choices, runs, x, zoom } = sheet;
  const { logX, smoothing, by } = choices;
  const range = zoom.rangeOf(tag);
  const body = useRef<HTMLDivElement>(null);
  const tags = useMemo(() => (chart ? tagsOf(chart) : [tag]), [tag, chart]);
  const { curves: found, error } = useCurves(sheet.book, tags, body, range);
  const curves = useMemo(() => found && { curves: [...found.values()].flatMap((each) => each.curves), groups: [...found.values()].flatMap((each) => each.groups) }, [found]);
  const drawn = { smoothing, logX, range, runs, by };
  const lines = useMemo(() => (found && curves ? (chart ? linesOfChart(found, chart, drawn) : linesOf(curves, tag, drawn)) : null), [found, chart, smoothing, logX, range, runs, by]);
  const whole = useMemo(() => (curves ? extentOf(curves.curves, curves.groups) : null), [curves]);
  const wide = useMemo(() => curves !== null && isWide(curves), [curves]);
  const logY = choices.logY ?? wide;
  const marks = useMemo(() => (large || tag === sheet.loss ? sheet.marks : sheet.marks.map((mark) => ({ ...mark, label: "" }))), [sheet.marks, large]);
  const plot = useRef<uPlot | null>(null);
  const saved = () => (plot.current && lines ? { plot: plot.current, run: sheet.run, tag, x, lines, marks, logX, logY } : null);
  const notes = [choices.logY === null && wide ? "log y" : "", chart ? leftOut(chart) : measuredInWords(tag, curves, sheet.steps)].filter(Boolean);
  return (
    <>
      <CardHead {...{ tag, notes, runs, large, saved }} chart={chart} pins={choices.pinned} />
      <div class="curves-body" ref={body}>
        {error ? <p class="curves-said">{error}</p> : null}
        {lines && !lines.some((line) => (line.raw ?? line).x.length) ? <p class="curves-said">{chart ? nothingIn(chart) : "No points of this tag."}</p> : null}
        {lines?.length ? (
          <Chart
            {...{ label: tag, lines, marks, x, logX, logY, range, whole, syncKey: "curves" }}
            {...(large ? { yRange: zoom.y, onYRange: zoom.setY } : {})}
            height={large ? Math.max(260, Math.round(innerHeight * 0.6)) : 226}
            wheelZooms={large}
            onRange={(wanted) => zoom.setRange(tag, wanted)}
            onPlot={(made) => (plot.current = made)}
          />
        ) : null}
        {!lines && !error ? <p class="curves-said">Reading…</p> : null}
      </div>
    </>
  );
}

function leftOut({ left_out = 0 }: SharedChart): string {
  return left_out ? `${wholeNumber(left_out)} more tags fit and are not drawn` : "";
}

function nothingIn({ asked = [] }: SharedChart): string {
  return asked.length ? `No tag of this run fits ${asked.join(", ")}.` : "No points of these tags.";
}
