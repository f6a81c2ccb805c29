import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import type uPlot from "uplot";
import { chartInWords } from "./alternative";
import "./charts.css";
import { extentOf } from "./extents";
import { onKey, showAll, type Wishes } from "./gestures";
import { hasAnything } from "./in_sight";
import { Legend } from "./Legend";
import type { Line, Mark, Range, XAxis } from "./lines";
import { useTheme } from "./palette";
import { usePlot } from "./plot";
import { ZoomButtons } from "./ZoomButtons";

export interface ChartProps {
  /** What the picture shows, for its text alternative. */
  label: string;
  lines: Line[];
  marks?: Mark[];
  x?: XAxis;
  logX?: boolean;
  logY?: boolean;
  height?: number;
  /** Charts of one key share their crosshair. */
  syncKey?: string;
  /** What of x is shown; null: all. With `onRange` the owner keeps it, else the chart does. */
  range?: Range | null;
  onRange?: (range: Range | null) => void;
  /** What of y is shown; null: what is in sight decides. Without `onYRange` only x can be zoomed. */
  yRange?: Range | null;
  onYRange?: (range: Range | null) => void;
  /** From the first x there is to the last, where `lines` are only a part of it. */
  whole?: Range | null;
  /** The wheel zooms without a key held: for a chart that is alone on its page. */
  wheelZooms?: boolean;
  /** The chart as uPlot has it, for an export; null when it goes. */
  onPlot?: (plot: uPlot | null) => void;
  withLegend?: boolean;
}

const STEP: XAxis = { name: "step", kind: "number" };
const NO_MARKS: Mark[] = [];
const KEYS = "Plus and minus zoom, the arrow keys move, 0 shows all.";

/** Lines over x. Drag to zoom, shift and drag to move, double click to go back; keys when it has the focus. */
export function Chart(props: ChartProps) {
  const { label, lines, marks = NO_MARKS, x = STEP, logX = false, logY = false, height = 220 } = props;
  const host = useRef<HTMLDivElement>(null);
  const [at, setAt] = useCrosshair();
  const [hidden, toggle] = useHidden();
  const [pointed, setPointed] = useState<string | null>(null);
  const zoom = useZoom(props);
  const theme = useTheme();
  const plot = usePlot(host, {
    lines, hidden, pointed, x, logX, logY, marks, height, theme, ...zoom, // prettier-ignore
    syncKey: props.syncKey,
    wheelZooms: props.wheelZooms ?? false,
    onCrosshair: setAt,
  });
  useEffect(() => {
    props.onPlot?.(plot.current);
    return () => props.onPlot?.(null);
  });
  const words = useMemo(() => `${chartInWords(label, x.name, lines, zoom.range)} ${KEYS}`, [label, x.name, lines, zoom.range?.[0], zoom.range?.[1]]);
  const empty = useMemo(() => zoom.zoomed && lines.length > 0 && !hasAnything(lines, zoom.range, zoom.yRange), [lines, zoom.range, zoom.yRange]);
  const press = (event: KeyboardEvent) => {
    if (plot.current && onKey(plot.current, event, zoom.wishes)) event.preventDefault();
  };
  return (
    <div class={zoom.zoomed ? "chart chart-zoomed" : "chart"}>
      {props.withLegend === false ? null : <Legend {...{ lines, hidden, x, at, logY }} sight={zoom.range} onToggle={toggle} onPoint={setPointed} />}
      <ZoomButtons plot={plot} wishes={zoom.wishes} zoomed={zoom.zoomed} />
      <div class="chart-plot" ref={host} role="img" tabIndex={0} aria-label={words} style={{ height: `${height}px` }} onKeyDown={press} />
      {empty ? (
        <p class="chart-empty">
          No points here.{" "}
          <button type="button" onClick={() => showAll(zoom.wishes)}>
            Show all
          </button>
        </p>
      ) : null}
    </div>
  );
}

/** At most once a frame, however fast the mouse is. */
function useCrosshair(): [number | null, (x: number | null) => void] {
  const [at, setAt] = useState<number | null>(null);
  const waiting = useRef<{ x: number | null } | null>(null);
  const tell = useCallback((x: number | null) => {
    if (waiting.current) {
      waiting.current.x = x;
      return;
    }
    waiting.current = { x };
    requestAnimationFrame(() => {
      setAt(waiting.current?.x ?? null);
      waiting.current = null;
    });
  }, []);
  return [at, tell];
}

function useHidden(): [ReadonlySet<string>, (name: string) => void] {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const toggle = (name: string) =>
    setHidden((before) => {
      const after = new Set(before);
      if (!after.delete(name)) after.add(name);
      return after;
    });
  return [hidden, toggle];
}

interface Zoom {
  range: Range | null;
  yRange: Range | null;
  zoomed: boolean;
  wishes: Wishes;
}

function useZoom({ lines, logX, range, onRange, yRange = null, onYRange, whole }: ChartProps): Zoom {
  const [own, setOwn] = useState<Range | null>(null);
  const shown = onRange ? (range ?? null) : (own ?? range ?? null);
  const zoomed = (onRange ? shown : own) !== null || yRange !== null;
  return { range: shown, yRange, zoomed, wishes: { x: onRange ?? setOwn, y: onYRange ?? null, whole: whole ?? extentOf(lines, logX) } };
}
