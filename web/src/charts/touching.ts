// Fingers on a chart: two zoom x, one moves it sideways when it is zoomed. Up and down stays the page's (touch-action).
import type uPlot from "uplot";
import { moveX, rangeOf, type Wishes } from "./gestures";
import type { Range } from "./lines";

interface Touch {
  range: Range;
  /** The middle of the fingers from the left edge, and how far they are apart. */
  middle: number;
  apart: number;
}

const LEAST_APART_PX = 20; // closer fingers would make every tremble a leap

export function watchTouch(plot: uPlot, shown: () => { wishes: Wishes; zoomed: boolean }): void {
  const fingers = new Map<number, number>();
  let start: Touch | null = null;
  const begin = () => {
    start = fingers.size === 1 || fingers.size === 2 ? { range: rangeOf(plot, "x"), ...spread([...fingers.values()]) } : null;
  };
  const put = (event: PointerEvent) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, event.clientX - plot.over.getBoundingClientRect().left);
    begin();
  };
  const move = (event: PointerEvent) => {
    if (!fingers.has(event.pointerId) || !start) return;
    fingers.set(event.pointerId, event.clientX - plot.over.getBoundingClientRect().left);
    const { wishes, zoomed } = shown();
    if (fingers.size === 2 || zoomed) follow(plot, wishes, start, spread([...fingers.values()]));
  };
  const lift = (event: PointerEvent) => {
    if (fingers.delete(event.pointerId)) begin();
  };
  plot.over.addEventListener("pointerdown", put);
  plot.over.addEventListener("pointermove", move);
  for (const end of ["pointerup", "pointercancel"] as const) plot.over.addEventListener(end, lift);
}

function spread(places: number[]): Omit<Touch, "range"> {
  const [first, second = first] = places as [number, number?];
  return { middle: (first + second!) / 2, apart: Math.max(LEAST_APART_PX, Math.abs(first - second!)) };
}

/** What was under the fingers stays under them. */
function follow(plot: uPlot, wishes: Wishes, { range, middle, apart }: Touch, now: Omit<Touch, "range">): void {
  const width = plot.over.clientWidth || 1;
  const factor = apart / now.apart;
  moveX(plot, wishes, factor, middle / width, (factor * (middle - now.middle)) / width, range);
}
