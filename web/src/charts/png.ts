// A chart as a PNG: what is on the canvas, with its title and the names of its lines above it.
import type uPlot from "uplot";
import type { Line } from "./lines";
import { countsInWords, countsOf } from "./notfinite";
import { paletteName, resolve } from "./palette";

const ROW_PX = 18;

export function chartAsPng(plot: uPlot, title: string, xName: string, lines: Line[]): Promise<Blob | null> {
  const source = plot.ctx.canvas;
  const ratio = window.devicePixelRatio || 1;
  const head = (lines.length > 1 ? ROW_PX * (lines.length + 1.5) : ROW_PX * 1.5) * ratio;
  const sheet = document.createElement("canvas");
  sheet.width = source.width;
  sheet.height = source.height + head + ROW_PX * ratio;
  const ctx = sheet.getContext("2d")!;
  ctx.fillStyle = resolve("--ground");
  ctx.fillRect(0, 0, sheet.width, sheet.height);
  ctx.drawImage(source, 0, head);
  ctx.scale(ratio, ratio);
  write(ctx, title, 8, 16, "600 13px system-ui, sans-serif", "--ink");
  if (lines.length > 1) lines.forEach((line, place) => writeName(ctx, line, place, ROW_PX * (place + 1.5) + 12));
  write(ctx, xName, sheet.width / ratio / 2, sheet.height / ratio - 5, "11px system-ui, sans-serif", "--quiet");
  return new Promise((done) => sheet.toBlob(done, "image/png"));
}

function write(ctx: CanvasRenderingContext2D, text: string, x: number, y: number, font: string, colour: string): void {
  ctx.font = font;
  ctx.fillStyle = resolve(colour);
  ctx.fillText(text, x, y);
}

function writeName(ctx: CanvasRenderingContext2D, line: Line, place: number, y: number): void {
  ctx.fillStyle = resolve(paletteName(line.colour ?? place));
  ctx.fillRect(8, y - 6, 14, 4);
  const odd = countsInWords(countsOf(line));
  write(ctx, odd ? `${line.name} (${odd})` : line.name, 28, y, "12px system-ui, sans-serif", "--ink");
}
