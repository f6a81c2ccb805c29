// Where a number lies between the two ends of a map's colours.

export interface HeatRange {
  form: "linear" | "log" | "diverging";
  low: number;
  high: number;
  /** Cells beyond the ends, drawn in the colour of the end. */
  below: number;
  above: number;
}

/** 0 at the low end, 1 at the high one; what lies beyond is at the end. */
export function placeOf(value: number, range: HeatRange): number {
  const [low, high, at] = range.form === "log" ? [Math.log(range.low), Math.log(range.high), Math.log(Math.max(value, 0))] : [range.low, range.high, value];
  if (!(high > low)) return 0.5;
  return Math.min(1, Math.max(0, (at - low) / (high - low)));
}

/** The numbers written beside the bar of colours: both ends and what lies between. */
export function barTicks(range: HeatRange, most = 5): number[] {
  const between = Array.from({ length: most }, (_, place) => place / (most - 1));
  if (range.form === "log") return between.map((t) => range.low * (range.high / range.low) ** t);
  return between.map((t) => range.low + t * (range.high - range.low));
}

/** What the ends of the colours leave out, in words; empty where they leave out nothing. */
export function clipping(range: HeatRange, say: (value: number) => string): string {
  const parts = [];
  if (range.below) parts.push(`${cells(range.below)} below ${say(range.low)}`);
  if (range.above) parts.push(`${cells(range.above)} above ${say(range.high)}`);
  return parts.length ? `Drawn in the colour of the nearer end: ${parts.join(", ")}.` : "";
}

function cells(many: number): string {
  return many === 1 ? "1 cell" : `${many.toLocaleString("en-US")} cells`;
}
