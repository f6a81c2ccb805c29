// One uPlot kept in step with what a chart should show: made anew when its lines are others, else given new data.
import { useEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";
import uPlot from "uplot";
import { drawMarks, drawNotFinite } from "./drawing";
import { extentOf, padded } from "./extents";
import { onWheel, showAll, startPan, zoomToBox, type Wishes } from "./gestures";
import type { Mark, Range } from "./lines";
import { airRightOf, axesOf, dataOf, scalesOf, seriesOf, type Look } from "./options";
import { watchTouch } from "./touching";

const BOX_PX = 50; // a drag is a box only where both its sides are longer: a hand that drags along x does not keep straight
const ROOM_FOR_TITLE_PX = 180; // of height, from which on the axis has its name below it

export interface Plotted extends Look {
  marks: Mark[];
  /** null: all there is. */
  range: Range | null;
  yRange: Range | null;
  zoomed: boolean;
  height: number;
  syncKey: string | undefined;
  wheelZooms: boolean;
  wishes: Wishes;
  /** The x under the crosshair; null when it left. */
  onCrosshair: (x: number | null) => void;
  theme: number;
}

export function usePlot(host: RefObject<HTMLDivElement | null>, shown: Plotted): RefObject<uPlot | null> {
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(shown);
  latest.current = shown;
  const kind = kindOf(shown);
  useEffect(() => {
    const made = makePlot(host.current!, latest);
    plot.current = made;
    const stop = watchSize(host.current!, made, latest);
    return () => {
      stop();
      made.destroy();
      plot.current = null;
    };
  }, [kind]);
  useEffect(() => plot.current?.setData(dataOf(shown), false), [shown.lines, kind]);
  useEffect(() => rescale(plot.current, shown), [shown.lines, shown.range?.[0], shown.range?.[1], shown.yRange?.[0], shown.yRange?.[1], kind]);
  useEffect(() => pointAt(plot.current, shown), [shown.pointed, shown.marks]);
  return plot;
}

/** What uPlot cannot change later: the lines' number and look, the axes, the theme. */
function kindOf({ lines, hidden, x, logX, logY, syncKey, theme, wishes }: Plotted): string {
  const looks = lines.map((line, place) => [line.name, line.colour ?? place, !!line.raw, !!line.low, hidden.has(line.name)]);
  return JSON.stringify([looks, x, logX, logY, syncKey, theme, wishes.y !== null]);
}

function makePlot(host: HTMLDivElement, latest: { current: Plotted }): uPlot {
  const { series, bands } = seriesOf(latest.current);
  const wanted = { get y() { return latest.current.yRange; } }; // prettier-ignore
  const options: uPlot.Options = {
    width: Math.max(50, host.clientWidth),
    height: latest.current.height,
    series,
    bands,
    axes: axesOf(latest.current, latest.current.height >= ROOM_FOR_TITLE_PX),
    scales: scalesOf(latest.current, wanted),
    legend: { show: false },
    padding: [8, airRightOf(latest.current.x.kind), 0, 0],
    cursor: cursorOf(latest),
    hooks: hooksOf(latest),
  };
  return new uPlot(options, dataOf(latest.current), host);
}

function cursorOf(latest: { current: Plotted }): uPlot.Cursor {
  const { syncKey } = latest.current;
  const isMove = (type: string) => type === "mousemove" || type === "mouseleave";
  return {
    drag: { x: true, y: latest.current.wishes.y !== null, uni: BOX_PX, dist: 5, setScale: false },
    points: { size: 6 },
    y: false,
    bind: {
      mousedown: (plot, _target, handle) => (event) => {
        if (event.shiftKey) startPan(plot, event, latest.current.wishes);
        else handle(event);
        return null;
      },
      dblclick: () => () => {
        showAll(latest.current.wishes);
        return null;
      },
    },
    ...(syncKey ? { sync: { key: syncKey, setSeries: false, scales: ["x", null], filters: { pub: isMove, sub: isMove } } } : {}),
  };
}

function hooksOf(latest: { current: Plotted }): uPlot.Hooks.Arrays {
  return {
    ready: [
      (plot) => plot.over.addEventListener("wheel", (event) => onWheel(plot, event, latest.current.wheelZooms, latest.current.wishes), { passive: false }),
      (plot) => watchTouch(plot, () => latest.current),
    ],
    setSelect: [(plot) => zoomToBox(plot, latest.current.wishes)],
    setCursor: [(plot) => latest.current.onCrosshair(crosshairOf(plot))],
    draw: [(plot) => drawMarks(plot, latest.current.marks), (plot) => drawNotFinite(plot, latest.current.lines.filter((line) => !latest.current.hidden.has(line.name)))],
  };
}

function crosshairOf(plot: uPlot): number | null {
  const { left } = plot.cursor;
  return left === undefined || left < 0 || left > plot.over.clientWidth ? null : plot.posToVal(left, "x");
}

type Publishing = (to: { left: number; top: number }, fire: boolean, publish: boolean) => void; // as uPlot's types forget

/** The place under the mouse is another x now: the chart that has the mouse says so to the others, once all have moved. */
function renewCrosshair(plot: uPlot): void {
  if (!plot.over.matches(":hover")) return plot.setCursor({ left: -10, top: -10 });
  requestAnimationFrame(() => {
    const { left = -10, top = -10 } = plot.cursor;
    if (plot.root.isConnected) (plot.setCursor as Publishing)({ left, top }, true, true);
  });
}

function rescale(plot: uPlot | null, { lines, range, logX }: Plotted): void {
  const wanted = range ?? extentOf(lines, logX);
  if (!plot || !wanted) return;
  const [min, max] = wanted[0] < wanted[1] ? wanted : padded(wanted[0], wanted[1], logX);
  plot.setScale("x", { min: logX && min <= 0 ? Math.min(1, max / 1000) : min, max });
  renewCrosshair(plot);
}

function pointAt(plot: uPlot | null, shown: Plotted): void {
  if (!plot) return;
  seriesOf(shown).series.forEach((series, place) => {
    plot.series[place]!.alpha = series.alpha ?? 1;
  });
  plot.redraw(false);
}

function watchSize(host: HTMLDivElement, plot: uPlot, latest: { current: Plotted }): () => void {
  const watcher = new ResizeObserver(() => {
    const width = Math.max(50, host.clientWidth);
    const { height } = latest.current;
    if (width !== plot.width || height !== plot.height) plot.setSize({ width, height });
  });
  watcher.observe(host);
  return () => watcher.disconnect();
}
