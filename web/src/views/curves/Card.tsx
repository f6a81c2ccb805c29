import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { Chart } from "../../charts/Chart";
import type { Mark, Range, XAxis } from "../../charts/lines";
import { CardHead } from "./CardHead";
import type { Choices } from "./choices";
import { extentOf, isWide, linesOf, type TagCurves } from "./curve_answers";
import type { CurveBook } from "./curve_book";
import { measuredInWords } from "./measured";
import { useInSight } from "./sight";
import type { Zoomer } from "./zoom";

const PX_A_BUCKET = 2;
const WIDTH_STEP = 50; // so that charts of nearly one width are asked for together

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

/** One tag. Its chart is there only while it is in sight; its name and its room always are. */
export function Card({ tag, large = false }: { tag: string; large?: boolean }) {
  const place = useRef<HTMLElement>(null);
  const seen = useInSight(place);
  return (
    <article class={large ? "curves-card curves-large" : "curves-card"} ref={place} tabIndex={-1} aria-label={tag}>
      {seen ? <Filled tag={tag} large={large} /> : <h3 title={tag}>{tag}</h3>}
    </article>
  );
}

function Filled({ tag, large }: { tag: string; large: boolean }) {
  const sheet = useContext(SheetContext)!;
  const { choices, runs, x, zoom } = sheet;
  const { logX, smoothing, by } = choices;
  const range = zoom.rangeOf(tag);
  const body = useRef<HTMLDivElement>(null);
  const { curves, error } = useCurves(sheet.book, tag, body, range);
  const lines = useMemo(() => (curves ? linesOf(curves, tag, { smoothing, logX, range, runs, by }) : null), [curves, smoothing, logX, range, runs, by]);
  const whole = useMemo(() => (curves ? extentOf(curves.curves, curves.groups) : null), [curves]);
  const wide = useMemo(() => curves !== null && isWide(curves), [curves]);
  const logY = choices.logY ?? wide;
  const marks = useMemo(() => (large || tag === sheet.loss ? sheet.marks : sheet.marks.map((mark) => ({ ...mark, label: "" }))), [sheet.marks, large]);
  const plot = useRef<uPlot | null>(null);
  const saved = () => (plot.current && lines ? { plot: plot.current, run: sheet.run, tag, x, lines, marks, logX, logY } : null);
  const notes = [choices.logY === null && wide ? "log y" : "", measuredInWords(tag, curves, sheet.steps)].filter(Boolean);
  return (
    <>
      <CardHead {...{ tag, notes, runs, large, saved }} pins={choices.pinned} />
      <div class="curves-body" ref={body}>
        {error ? <p class="curves-said">{error}</p> : null}
        {lines && !lines.some((line) => (line.raw ?? line).x.length) ? <p class="curves-said">No points of this tag.</p> : null}
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

interface Told {
  curves: TagCurves | null;
  error: string | null;
}

/** The curves of a tag for what is in sight; the old ones stay until the new ones are there. */
function useCurves(book: CurveBook, tag: string, place: { current: HTMLElement | null }, range: Range | null): Told {
  const [told, setTold] = useState<Told>({ curves: null, error: null });
  const width = () => Math.max(1, Math.ceil((place.current?.clientWidth ?? 400) / PX_A_BUCKET / WIDTH_STEP)) * WIDTH_STEP;
  useEffect(() => {
    const tell = (curves: TagCurves | null, error: string | null) => setTold((before) => ({ curves: curves ?? before.curves, error }));
    return book.need(tag, { width: width(), range }, tell);
  }, [book, tag]);
  useLayoutEffect(() => book.change(tag, { width: width(), range }), [range?.[0], range?.[1]]); // asked before the old points are drawn
  return told;
}
