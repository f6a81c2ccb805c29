// Zooming and moving: by mouse, by wheel, by keys. All of them end in one wish for a range.
import type uPlot from "uplot";
import { moved } from "./extents";
import type { Range } from "./lines";

export interface Wishes {
  /** The ranges that are wanted; null: all there is. */
  x: (range: Range | null) => void;
  y: (range: Range | null) => void;
}

export function rangeOf(plot: uPlot, key: "x" | "y"): Range {
  const { min, max } = plot.scales[key]!;
  return [min ?? 0, max ?? 1];
}

function isLog(plot: uPlot, key: "x" | "y"): boolean {
  return plot.scales[key]!.distr === 3;
}

/** After a box was drawn: its x, and its y where it was drawn tall. */
export function zoomToBox(plot: uPlot, wishes: Wishes): void {
  const { left, top, width, height } = plot.select;
  if (width < 4 && height < 4) return;
  const all = plot.over.getBoundingClientRect();
  if (height > 4 && height < all.height - 1) wishes.y([plot.posToVal(top + height, "y"), plot.posToVal(top, "y")]);
  if (width > 4 && width < all.width - 1) wishes.x([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/** Shift and drag: the picture follows the mouse. */
export function startPan(plot: uPlot, event: MouseEvent, wishes: Wishes): void {
  const start = rangeOf(plot, "x");
  const width = plot.over.clientWidth || 1;
  const follow = (now: MouseEvent) => wishes.x(moved(start, 1, 0, (event.clientX - now.clientX) / width, isLog(plot, "x")));
  const stop = () => {
    removeEventListener("mousemove", follow);
    removeEventListener("mouseup", stop);
  };
  addEventListener("mousemove", follow);
  addEventListener("mouseup", stop);
  event.preventDefault();
}

/** The wheel zooms around the mouse; without a key held it scrolls the page, unless `always`. */
export function onWheel(plot: uPlot, event: WheelEvent, always: boolean, wishes: Wishes): void {
  if (!always && !event.ctrlKey && !event.metaKey && !event.shiftKey) return;
  event.preventDefault();
  const { left, width } = plot.over.getBoundingClientRect();
  const turned = event.deltaY || event.deltaX;
  const factor = Math.exp(Math.sign(turned) * Math.min(0.5, Math.abs(turned) / 300));
  wishes.x(moved(rangeOf(plot, "x"), factor, (event.clientX - left) / (width || 1), 0, isLog(plot, "x")));
}

const KEYS: Record<string, readonly ["x" | "y", number, number]> = {
  "+": ["x", 0.5, 0],
  "=": ["x", 0.5, 0],
  "-": ["x", 2, 0],
  ArrowLeft: ["x", 1, -0.2],
  ArrowRight: ["x", 1, 0.2],
  ArrowUp: ["y", 1, 0.2],
  ArrowDown: ["y", 1, -0.2],
};

/** True where the key was one of a chart's. */
export function onKey(plot: uPlot, event: KeyboardEvent, wishes: Wishes): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === "0") {
    wishes.y(null);
    wishes.x(null);
    return true;
  }
  const known = KEYS[event.key];
  if (!known) return false;
  const [key, factor, shift] = known;
  wishes[key](moved(rangeOf(plot, key), factor, 0.5, shift, isLog(plot, key)));
  return true;
}
