// A chart as uPlot wants it described.
import type uPlot from "uplot";
import { padded } from "./extents";
import type { Line, Range, XAxis } from "./lines";
import { mergeLines } from "./merging";
import { measured } from "./notfinite";
import { dashOf, faded, paletteName, resolve } from "./palette";
import { ticksOf, type Tick } from "./ticks";

export interface Look {
  lines: Line[];
  /** The names of lines that are switched off. */
  hidden: ReadonlySet<string>;
  /** The line that is pointed at in the legend: the others step back. */
  pointed: string | null;
  x: XAxis;
  logX: boolean;
  logY: boolean;
}

interface Part {
  line: Line;
  place: number;
  role: "line" | "raw" | "low" | "high";
}

function partsOf(lines: Line[]): Part[] {
  const parts: Part[] = [];
  lines.forEach((line, place) => {
    if (line.low && line.high) parts.push({ line, place, role: "high" }, { line, place, role: "low" });
    if (line.raw) parts.push({ line, place, role: "raw" });
    parts.push({ line, place, role: "line" });
  });
  return parts;
}

export function dataOf({ lines, logX, logY }: Look): uPlot.AlignedData {
  const points = partsOf(lines).map(({ line, role }) => {
    if (role === "raw") return measured(line);
    return { x: line.x, y: role === "low" ? line.low! : role === "high" ? line.high! : line.y };
  });
  const drawn = (x: number, y: number) => Number.isFinite(y) && (!logY || y > 0) && (!logX || x > 0);
  const [xs, ...columns] = mergeLines(points, drawn);
  const first = logX ? xs.findIndex((x) => x > 0) : 0;
  if (first <= 0) return first < 0 ? [[], ...columns.map(() => [])] : [xs, ...columns];
  return [xs.slice(first), ...columns.map((column) => column.slice(first))];
}

export function seriesOf(look: Look): { series: uPlot.Series[]; bands: uPlot.Band[] } {
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const { line, place, role } of partsOf(look.lines)) {
    const colour = resolve(paletteName(line.colour ?? place));
    if (role === "low") bands.push({ series: [series.length - 1, series.length], fill: faded(colour, 0.18) });
    series.push({ ...drawnAs(role, colour, line.colour ?? place, line.sparse), label: line.name, show: !look.hidden.has(line.name), ...steppedBack(look, line) });
  }
  return { series, bands };
}

function drawnAs(role: Part["role"], colour: string, place: number | string, sparse = false): uPlot.Series {
  if (role === "low" || role === "high") return { width: 0, points: { show: false }, scale: "y" };
  if (sparse) return { scale: "y", stroke: faded(colour, 0.55), width: 1, dash: [2, 4], points: { show: true, size: 5, fill: colour, stroke: colour } };
  const faint = role === "raw";
  return {
    scale: "y",
    stroke: faint ? faded(colour, 0.3) : colour,
    width: faint ? 1 : 1.6,
    dash: faint ? [] : dashOf(place),
    points: { size: 4, space: 14, fill: colour, stroke: faint ? faded(colour, 0.3) : colour },
  };
}

function steppedBack({ pointed }: Look, line: Line): { alpha?: number } {
  return pointed !== null && pointed !== line.name ? { alpha: 0.2 } : {};
}

const FONT = "11px system-ui, sans-serif";

/** So that the last word of the axis is not cut: times and dates are longer than numbers. */
export function airRightOf(kind: XAxis["kind"]): number {
  return kind === "number" ? 16 : 36;
}

/** With `titled` the x axis has its name below it. */
export function axesOf(look: Look, titled: boolean): uPlot.Axis[] {
  const shared = {
    stroke: () => resolve("--quiet"),
    grid: { stroke: () => faded(resolve("--line"), 0.7), width: 1 },
    ticks: { show: false },
    font: FONT,
    gap: 4,
  };
  const x = ticking(look.x.kind, look.logX, look.x.kind === "number" ? 70 : 90);
  const title = titled ? { label: look.x.name, labelSize: 15, labelGap: 0, labelFont: FONT } : {};
  return [
    { ...shared, ...x, ...title, scale: "x", size: 24 },
    { ...shared, ...ticking("number", look.logY, 34), scale: "y", size: widthOfWords },
  ];
}

function ticking(kind: XAxis["kind"], log: boolean, space: number): Pick<uPlot.Axis, "splits" | "values" | "space" | "filter" | "incrs"> {
  let made: Tick[] = [];
  return {
    space,
    incrs: (_plot, _axis, low, high) => [Math.max(5, high - low)], // uPlot's own end at 1e16, and an axis beyond had no word
    splits: (plot, axis, low, high) => {
      const room = (axis === 0 ? plot.bbox.width : plot.bbox.height) / (window.devicePixelRatio || 1);
      made = ticksOf(kind, [low, high], Math.max(1, Math.floor(room / space)), log);
      return made.map((tick) => tick.at);
    },
    filter: (_plot, splits) => splits,
    values: () => made.map((tick) => tick.text),
  };
}

function widthOfWords(_plot: uPlot, words: string[] | null): number {
  const longest = Math.max(3, ...(words ?? []).map((word) => word.length));
  return Math.min(90, Math.ceil(longest * 6.4 + 10));
}

export function scalesOf(look: Look, wishes: { y: Range | null }): uPlot.Scales {
  return {
    x: { time: false, auto: false, distr: look.logX ? 3 : 1, range: (_plot, low, high) => [low, high] },
    y: {
      distr: look.logY ? 3 : 1,
      range: (_plot, low, high) => {
        if (wishes.y) return [...wishes.y];
        if (low === null || high === null || low === undefined) return look.logY ? [0.1, 10] : [0, 1];
        return [...padded(low, high, look.logY)];
      },
    },
  };
}
