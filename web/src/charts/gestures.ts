// Zooming and moving: by mouse, by wheel, by keys, by buttons. All of them end in one wish for a range.
import type uPlot from "uplot";
import { keptOnData, moved } from "./extents";
import type { Range } from "./lines";

export interface Wishes {
  /** The range that is wanted; null: all there is. */
  x: (range: Range | null) => void;
  /** Missing where only x can be zoomed: y then follows what is in sight. */
  y: ((range: Range | null) => void) | null;
  /** From the first point there is to the last; nothing moves far away from them. */
  whole: Range | null;
}

export function rangeOf(plot: uPlot, key: "x" | "y"): Range {
  const { min, max } = plot.scales[key]!;
  return [min ?? 0, max ?? 1];
}

function isLog(plot: uPlot, key: "x" | "y"): boolean {
  return plot.scales[key]!.distr === 3;
}

export function showAll(wishes: Wishes): void {
  wishes.y?.(null);
  wishes.x(null);
}

/** Zooms x by a factor around `centre` (0 left, 1 right) and moves it by a part of its width. */
export function moveX(plot: uPlot, wishes: Wishes, factor: number, centre = 0.5, shift = 0, from = rangeOf(plot, "x")): void {
  const log = isLog(plot, "x");
  wishes.x(keptOnData(moved(from, factor, centre, shift, log), wishes.whole, log));
}

/** After a box was drawn: its x, and its y where it was drawn tall. */
export function zoomToBox(plot: uPlot, wishes: Wishes): void {
  const { left, top, width, height } = plot.select;
  if (width < 4 && height < 4) return;
  const all = plot.over.getBoundingClientRect();
  if (height > 4 && height < all.height - 1) wishes.y?.([plot.posToVal(top + height, "y"), plot.posToVal(top, "y")]);
  if (width > 4 && width < all.width - 1) wishes.x([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/** Shift and drag: the picture follows the mouse. */
export function startPan(plot: uPlot, event: MouseEvent, wishes: Wishes): void {
  const start = rangeOf(plot, "x");
  const width = plot.over.clientWidth || 1;
  const follow = (now: MouseEvent) => moveX(plot, wishes, 1, 0, (event.clientX - now.clientX) / width, start);
  const stop = () => {
    removeEventListener("mousemove", follow);
    removeEventListener("mouseup", stop);
  };
  addEventListener("mousemove", follow);
  addEventListener("mouseup", stop);
}

/** The wheel zooms around the mouse; without a key held it scrolls the page, unless `always`. */
export function onWheel(plot: uPlot, event: WheelEvent, always: boolean, wishes: Wishes): void {
  if (!always && !event.ctrlKey && !event.metaKey && !event.shiftKey) return;
  event.preventDefault();
  const { left, width } = plot.over.getBoundingClientRect();
  const turned = event.deltaY || event.deltaX;
  const factor = Math.exp(Math.sign(turned) * Math.min(0.5, Math.abs(turned) / 300));
  moveX(plot, wishes, factor, (event.clientX - left) / (width || 1));
}

const KEYS: Record<string, readonly [factor: number, shift: number]> = {
  "+": [0.5, 0],
  "=": [0.5, 0],
  "-": [2, 0],
  ArrowLeft: [1, -0.2],
  ArrowRight: [1, 0.2],
};
const UP_AND_DOWN: Record<string, number> = { ArrowUp: 0.2, ArrowDown: -0.2 };

/** True where the key was one of a chart's. */
export function onKey(plot: uPlot, event: KeyboardEvent, wishes: Wishes): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const [factor, shift] = KEYS[event.key] ?? [];
  const up = UP_AND_DOWN[event.key];
  if (event.key === "0") showAll(wishes);
  else if (factor !== undefined) moveX(plot, wishes, factor, 0.5, shift);
  else if (up !== undefined && wishes.y) wishes.y(moved(rangeOf(plot, "y"), 1, 0.5, up, isLog(plot, "y")));
  else return false;
  return true;
}
