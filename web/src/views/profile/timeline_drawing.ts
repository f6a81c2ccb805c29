// Paints a timeline on a canvas: what is out of sight is not drawn, what is too narrow has no name.
import { resolve } from "../../charts/palette";
import { duration } from "../../pieces/numbers";
import type { Bar, Stretch } from "./answers";
import { momentsOf, ROW, TITLE, type LanePlace, type Sight } from "./timeline_sight";

export const KINDS: Record<string, { title: string; colour: string }> = {
  step: { title: "step", colour: "--quiet" },
  annotation: { title: "record_function", colour: "--chart-3" },
  python: { title: "Python", colour: "--chart-8" },
  operator: { title: "operator", colour: "--chart-1" },
  runtime: { title: "runtime", colour: "--chart-5" },
  kernel: { title: "kernel", colour: "--chart-2" },
  communication: { title: "communication", colour: "--chart-4" },
  memcpy: { title: "copy", colour: "--chart-6" },
  memset: { title: "fill", colour: "--chart-7" },
};

const LEAST_FOR_NAME = 28; // pixels

export interface Painting {
  stretch: Stretch;
  places: readonly LanePlace[];
  sight: Sight;
  width: number;
  height: number;
  marked: Bar | null;
}

export function paint(canvas: HTMLCanvasElement, { stretch, places, sight, width, height, marked }: Painting): void {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const across = (moment: number) => ((moment - sight.from) / (sight.to - sight.from)) * width;
  paintScale(context, sight, across, height);
  places.forEach((place, lane) => {
    context.fillStyle = resolve("--ink");
    context.fillText(place.name, 4, place.top + TITLE / 2);
    for (const bar of stretch.lanes[lane]?.bars ?? []) paintBar(context, stretch, place, bar, across, width, bar === marked);
  });
}

function paintScale(context: CanvasRenderingContext2D, sight: Sight, across: (moment: number) => number, height: number): void {
  for (const moment of momentsOf(sight)) {
    const x = across(moment);
    context.fillStyle = resolve("--line");
    context.fillRect(x, 0, 1, height);
    context.fillStyle = resolve("--quiet");
    context.fillText(duration(Number(moment.toPrecision(12))), x + 4, 10);
  }
}

function paintBar(context: CanvasRenderingContext2D, stretch: Stretch, place: LanePlace, bar: Bar, across: (moment: number) => number, width: number, marked: boolean): void {
  const left = Math.max(across(bar[0]), 0);
  const right = Math.min(across(bar[0] + bar[1]), width);
  if (right < 0 || left > width) return;
  const wide = Math.max(right - left, 1);
  const top = place.top + TITLE + bar[2] * ROW;
  const kind = KINDS[stretch.kinds[bar[4]] ?? ""];
  context.fillStyle = resolve(kind?.colour ?? "--quiet");
  context.globalAlpha = bar[6] > 1 ? 0.55 : 1;
  context.fillRect(left, top, wide > 3 ? wide - 0.5 : wide, ROW - 2);
  context.globalAlpha = 1;
  if (marked) {
    context.strokeStyle = resolve("--ink");
    context.lineWidth = 2;
    context.strokeRect(left + 1, top + 1, Math.max(wide - 2, 1), ROW - 4);
  }
  if (wide >= LEAST_FOR_NAME && bar[3] >= 0) paintName(context, stretch.texts[bar[3]] ?? "", left, top, wide);
}

/** Black on light bars and white on dark ones, whatever the theme. */
function paintName(context: CanvasRenderingContext2D, name: string, left: number, top: number, wide: number): void {
  const channels = (String(context.fillStyle).match(/[\da-f]{2}/gi) ?? []).map((each) => parseInt(each, 16));
  const [red = 0, green = 0, blue = 0] = channels;
  context.fillStyle = 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#111" : "#fff";
  const letters = Math.floor((wide - 6) / 6.2);
  context.fillText(name.length > letters ? `${name.slice(0, Math.max(letters - 1, 1))}…` : name, left + 3, top + ROW / 2 - 1);
}

/** What a bar is, in words. */
export function barInWords(stretch: Stretch, bar: Bar): string {
  const kind = KINDS[stretch.kinds[bar[4]] ?? ""]?.title ?? "";
  const what = bar[6] > 1 ? `${bar[6].toLocaleString("en-US")} bars too narrow to draw (${kind} and others); zoom in to see them` : (stretch.texts[bar[3]] ?? "");
  const about = bar[5] >= 0 ? `; ${stretch.texts[bar[5]]}` : "";
  return `${what}: ${duration(bar[1])}, from ${duration(bar[0])} on${bar[6] > 1 ? "" : ` (${kind})`}${about}`;
}
