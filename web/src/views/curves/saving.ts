import type uPlot from "uplot";
import { addressOf } from "../../asking";
import { download, fileName } from "../../charts/downloads";
import { rangeOf } from "../../charts/gestures";
import type { Line, Mark, XAxis } from "../../charts/lines";
import { svgAsPng } from "../../charts/png";
import { chartAsSvg } from "../../charts/svg";
import { writeList } from "./choices";

export interface Saved {
  plot: uPlot;
  run: string;
  tag: string;
  x: XAxis;
  lines: Line[];
  marks: Mark[];
  logX: boolean;
  logY: boolean;
}

export async function savePng(saved: Saved): Promise<void> {
  const picture = await svgAsPng(drawingOf(saved));
  if (picture) download(picture, fileName(`${saved.run}-${saved.tag}`, "png"));
}

export function saveSvg(saved: Saved): void {
  download(new Blob([drawingOf(saved)], { type: "image/svg+xml" }), fileName(`${saved.run}-${saved.tag}`, "svg"));
}

/** What is in sight, as it is in sight: lines that are switched off stay away. */
function drawingOf({ plot, run, tag, lines, ...shown }: Saved): string {
  const on = new Set(plot.series.flatMap(({ show, label }) => (show ? [label] : [])));
  return chartAsSvg({ title: `${run}: ${tag}`, ...shown, lines: lines.filter(({ name }) => on.has(name)), xRange: rangeOf(plot, "x"), yRange: rangeOf(plot, "y") });
}

/** Every point of every run in the chart, also those outside the picture. */
export function saveCsv(runs: string[], tag: string): void {
  const [run] = runs as [string];
  const of = runs.length > 1 ? { runs: writeList(runs) } : { run };
  download(addressOf("points", { ...of, tag }), fileName(runs.length > 1 ? `${runs.length}-runs-${tag}` : `${run}-${tag}`, "csv"));
}
