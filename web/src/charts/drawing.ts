// What uPlot does not draw itself: the marks of findings, and of points that are not finite.
import type uPlot from "uplot";
import type { Line, Mark } from "./lines";
import { kindOf, measured, type Kind } from "./notfinite";
import { faded, resolve } from "./palette";

const SIZE_PX = 5;

export function drawNotFinite(plot: uPlot, lines: Line[]): void {
  const { ctx } = plot;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = resolve("--notfinite");
  ctx.lineWidth = 2 * ratio();
  for (const line of lines) drawOf(plot, line);
  ctx.restore();
}

function drawOf(plot: uPlot, line: Line): void {
  const { x, y } = measured(line);
  const last: Record<Kind, number> = { nan: -Infinity, inf: -Infinity, "-inf": -Infinity };
  for (let place = 0; place < x.length; place++) {
    const kind = kindOf(y[place]!);
    if (!kind || !inSight(plot, x[place]!)) continue;
    const left = plot.valToPos(x[place]!, "x", true);
    if (left - last[kind] < 2) continue; // on the same pixel as the one before
    last[kind] = left;
    drawMark(plot, kind, left);
  }
}

function inSight(plot: uPlot, x: number): boolean {
  const { min, max } = plot.scales.x!;
  return x >= min! && x <= max!;
}

/** NaN: a cross at the bottom edge. +Inf: a triangle that points out at the top; -Inf: at the bottom. */
function drawMark({ ctx, bbox }: uPlot, kind: Kind, x: number): void {
  const size = SIZE_PX * ratio();
  ctx.beginPath();
  if (kind === "nan") {
    const y = bbox.top + bbox.height - size * 1.4;
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
    ctx.stroke();
    return;
  }
  const edge = kind === "inf" ? bbox.top : bbox.top + bbox.height;
  const inward = kind === "inf" ? size * 1.8 : -size * 1.8;
  ctx.moveTo(x, edge);
  ctx.lineTo(x - size, edge + inward);
  ctx.lineTo(x + size, edge + inward);
  ctx.fill();
}

export function drawMarks(plot: uPlot, marks: Mark[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = `${11 * ratio()}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  let free = -Infinity; // where the next word may begin
  for (const mark of marks.filter((each) => inSight(plot, each.x)).sort((one, other) => one.x - other.x)) {
    const x = Math.round(plot.valToPos(mark.x, "x", true));
    const colour = resolve(mark.colour ?? "--error");
    ctx.strokeStyle = faded(colour, 0.85);
    ctx.lineWidth = ratio();
    ctx.setLineDash([4 * ratio(), 3 * ratio()]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    free = drawWord(plot, mark.label, colour, x, free);
  }
  ctx.restore();
}

/** On the side of the line where there is room; none where words would run into each other. */
function drawWord({ ctx, bbox }: uPlot, text: string, colour: string, x: number, free: number): number {
  const word = text.length > 32 ? `${text.slice(0, 31)}…` : text;
  const width = ctx.measureText(word).width;
  const gap = 4 * ratio();
  const right = x + gap + width <= bbox.left + bbox.width;
  const start = right ? x + gap : x - gap - width;
  if (start < Math.max(free, bbox.left)) return free;
  ctx.fillStyle = colour;
  ctx.textAlign = "left";
  ctx.fillText(word, start, bbox.top + 2 * ratio());
  return start + width + gap;
}

function ratio(): number {
  return window.devicePixelRatio || 1;
}
