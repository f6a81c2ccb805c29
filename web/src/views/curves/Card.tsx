import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { isReport } from "../../asking";
import { Chart } from "../../charts/Chart";
import type { Mark, Range, XAxis } from "../../charts/lines";
import { choose } from "../../links";
import type { Choices } from "./choices";
import { writeList } from "./choices";
import { linesOf, type TagCurves } from "./curve_answers";
import type { CurveBook } from "./curve_book";
import { saveCsv, savePng, saveSvg, type Saved } from "./saving";
import { useInSight } from "./sight";

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
  range: Range | null;
  onRange: (range: Range | null) => void;
}

/** By a context, so that what changes with every zoom reaches the charts in sight and not thousands of empty cards. */
export const SheetContext = createContext<Sheet | null>(null);

/** One tag. Its chart is there only while it is in sight; its name and its room always are. */
export function Card({ tag, large = false }: { tag: string; large?: boolean }) {
  const place = useRef<HTMLElement>(null);
  const seen = useInSight(place);
  return (
    <article class={large ? "curves-card curves-large" : "curves-card"} ref={place} aria-label={tag}>
      {seen ? <Filled tag={tag} large={large} /> : <h3 title={tag}>{tag}</h3>}
    </article>
  );
}

function Filled({ tag, large }: { tag: string; large: boolean }) {
  const sheet = useContext(SheetContext)!;
  const { choices, runs, x } = sheet;
  const { logX, logY, smoothing, by } = choices;
  const [own, setOwn] = useState<Range | null>(null);
  const range = choices.apart ? own : sheet.range;
  const body = useRef<HTMLDivElement>(null);
  const { curves, error } = useCurves(sheet.book, tag, body, range);
  const lines = useMemo(() => (curves ? linesOf(curves, tag, { smoothing, logX, range, runs, by }) : null), [curves, smoothing, logX, range, runs, by]);
  const marks = useMemo(() => (large || tag === sheet.loss ? sheet.marks : sheet.marks.map((mark) => ({ ...mark, label: "" }))), [sheet.marks, large]);
  const plot = useRef<uPlot | null>(null);
  const saved = () => (plot.current && lines ? { plot: plot.current, run: sheet.run, tag, x, lines, marks, logX, logY } : null);
  return (
    <>
      <CardHead {...{ tag, large, saved, run: sheet.run }} pins={choices.pinned} />
      <div class="curves-body" ref={body}>
        {error ? <p class="curves-said">{error}</p> : null}
        {lines && !lines.some((line) => (line.raw ?? line).x.length) ? <p class="curves-said">No points of this tag.</p> : null}
        {lines?.length ? (
          <Chart
            {...{ label: tag, lines, marks, x, logX, logY, range, syncKey: "curves" }}
            height={large ? Math.max(260, Math.round(innerHeight * 0.6)) : 212}
            wheelZooms={large}
            onRange={choices.apart ? setOwn : sheet.onRange}
            onPlot={(made) => (plot.current = made)}
          />
        ) : null}
        {!lines && !error ? <p class="curves-said">Reading…</p> : null}
      </div>
    </>
  );
}

interface HeadProps {
  tag: string;
  run: string;
  large: boolean;
  pins: ReadonlySet<string>;
  saved: () => Saved | null;
}

function CardHead({ tag, run, large, pins, saved }: HeadProps) {
  const pinned = pins.has(tag);
  const pin = () => choose({ pins: writeList(pinned ? [...pins].filter((each) => each !== tag) : [...pins, tag]) });
  const save = (how: (what: Saved) => void) => () => {
    const what = saved();
    if (what) how(what);
  };
  return (
    <div class="curves-head">
      {large ? <h2 title={tag}>{tag}</h2> : <h3 title={tag}>{tag}</h3>}
      <button type="button" aria-pressed={pinned} onClick={pin} aria-label={`Pin ${tag}`}>
        {pinned ? "Pinned" : "Pin"}
      </button>
      {large ? null : (
        <button type="button" onClick={() => choose({ tag }, false)} aria-label={`Larger view of ${tag}`}>
          Larger
        </button>
      )}
      <details class="curves-menu" name="curves-save">
        <summary aria-label={`Save ${tag}`}>Save</summary>
        <div>
          <button type="button" onClick={save((what) => void savePng(what))}>Picture (PNG)</button>
          <button type="button" onClick={save(saveSvg)}>Drawing (SVG)</button>
          {isReport() ? null : <button type="button" onClick={() => saveCsv(run, tag)}>Every point (CSV)</button>}
        </div>
      </details>
    </div>
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
