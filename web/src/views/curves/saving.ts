import type uPlot from "uplot";
import { addressOf } from "../../asking";
import { download, fileName } from "../../charts/downloads";
import { rangeOf } from "../../charts/gestures";
import type { Line, Mark, XAxis } from "../../charts/lines";
import { chartAsPng } from "../../charts/png";
import { chartAsSvg } from "../../charts/svg";

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

export async function savePng({ plot, run, tag, x, lines }: Saved): Promise<void> {
  const picture = await chartAsPng(plot, `${run}: ${tag}`, x.name, lines);
  if (picture) download(picture, fileName(`${run}-${tag}`, "png"));
}

/** What is in sight, as it is in sight. */
export function saveSvg({ plot, run, tag, ...shown }: Saved): void {
  const text = chartAsSvg({ title: `${run}: ${tag}`, ...shown, xRange: rangeOf(plot, "x"), yRange: rangeOf(plot, "y") });
  download(new Blob([text], { type: "image/svg+xml" }), fileName(`${run}-${tag}`, "svg"));
}

/** Every point, also those outside the picture. */
export function saveCsv(run: string, tag: string): void {
  download(addressOf("points", { run, tag }), fileName(`${run}-${tag}`, "csv"));
}
