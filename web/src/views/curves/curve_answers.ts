// What the server says of curves, and the lines that are drawn from it.
import type { Line, NotFiniteCounts, Points, Range } from "../../charts/lines";
import { unpack, type Packed } from "../../charts/packed";
import { smooth } from "../../charts/smoothing";

export interface TagsAnswer {
  tags: string[];
  loss: string | null;
  axes: { kind: string; name: string }[];
}

export interface MarksAnswer {
  marks: { x: number; step: number; name: string; severity: string; message: string }[];
}

interface PackedPoints {
  x: Packed;
  y: Packed;
}

/** /ask/scalars */
export interface CurveAnswer extends PackedPoints {
  run: string;
  tag: string;
  points: number;
  extent: [number, number] | null;
  /** The least and the greatest finite value of the whole curve. */
  values: [number, number] | null;
  notfinite: NotFiniteCounts;
  /** The mean of each bucket, where the points are only the extremes of buckets. */
  means?: PackedPoints;
}

/** /ask/grouped */
export interface GroupAnswer {
  tag: string;
  value: string;
  runs: string[];
  x: Packed;
  mean: Packed;
  std: Packed;
}

export interface Curve {
  run: string;
  points: Points;
  /** What a smoothed line follows. */
  means: Points;
  all: number;
  extent: Range | null;
  values: Range | null;
  counts: NotFiniteCounts;
}

export interface Group {
  value: string;
  runs: string[];
  x: ArrayLike<number>;
  mean: ArrayLike<number>;
  std: ArrayLike<number>;
}

export interface TagCurves {
  curves: Curve[];
  groups: Group[];
}

export function readCurve({ run, x, y, means, points, extent, values, notfinite }: CurveAnswer): Curve {
  const read = { x: unpack(x), y: unpack(y) };
  const averages = means ? { x: unpack(means.x), y: unpack(means.y) } : read;
  return { run, points: read, means: averages, all: points, extent, values, counts: notfinite };
}

export function readGroup({ value, runs, x, mean, std }: GroupAnswer): Group {
  return { value, runs, x: unpack(x), mean: unpack(mean), std: unpack(std) };
}

export interface Drawn {
  smoothing: number;
  logX: boolean;
  /** What is in sight; null: all. */
  range: Range | null;
  /** The runs in their order, which gives them their colours. */
  runs: string[];
  by: string;
}

export function linesOf({ curves, groups }: TagCurves, tag: string, drawn: Drawn): Line[] {
  const span = spanOf(drawn.range ?? extentOf(curves, groups), drawn.logX);
  if (groups.length) return groups.map((group, place) => lineOfGroup(group, place, drawn, span));
  return curves.map((curve) => lineOfCurve(curve, curves.length > 1 || drawn.runs.length > 1 ? curve.run : tag, drawn, span));
}

function lineOfCurve({ run, points, means, counts }: Curve, name: string, drawn: Drawn, span: number): Line {
  const colour = Math.max(0, drawn.runs.indexOf(run));
  if (drawn.smoothing <= 0) return { name, colour, counts, ...points };
  return { name, colour, counts, ...smooth(means, drawn.smoothing, span, drawn.logX), raw: points };
}

function lineOfGroup({ value, runs, x, mean, std }: Group, colour: number, { by, smoothing, logX }: Drawn, span: number): Line {
  const even = (y: number[]) => (smoothing > 0 ? smooth({ x, y }, smoothing, span, logX).y : y);
  const means = Array.from(mean);
  const name = `${by} = ${value} (${runs.length} ${runs.length === 1 ? "run" : "runs"})`;
  if (runs.length === 1) return { name, colour, x, y: even(means) }; // one run has no deviation
  return {
    name,
    colour,
    x,
    y: even(means),
    low: even(means.map((each, place) => each - std[place]!)),
    high: even(means.map((each, place) => each + std[place]!)),
  };
}

/** Of all points there are, also of those outside what was sent. */
export function extentOf(curves: Curve[], groups: Group[] = []): Range | null {
  const ends = [...curves.map((curve) => curve.extent), ...groups.map(({ x }) => (x.length ? ([x[0]!, x[x.length - 1]!] as const) : null))];
  const known = ends.filter((each) => each !== null);
  if (!known.length) return null;
  return [Math.min(...known.map(([low]) => low)), Math.max(...known.map(([, high]) => high))];
}

const WIDE = 1e4; // from this ratio on a straight axis shows one flat line

/** Whether a logarithmic y tells more: all values are above zero and far apart. Of whole curves, so that no zoom turns it. */
export function isWide({ curves, groups }: TagCurves): boolean {
  const ends = [...curves.map(({ values }) => values), ...groups.map(({ mean }) => endsOf(mean))].filter((each) => each !== null);
  const low = Math.min(...ends.map(([least]) => least));
  return low > 0 && Math.max(...ends.map(([, most]) => most)) / low > WIDE;
}

function endsOf(values: ArrayLike<number>): Range | null {
  const finite = Array.from(values).filter(Number.isFinite);
  return finite.length ? [finite.reduce((a, b) => Math.min(a, b)), finite.reduce((a, b) => Math.max(a, b))] : null;
}

function spanOf(range: Range | null, log: boolean): number {
  if (!range) return 0;
  return log ? Math.log10(range[1]) - Math.log10(Math.max(range[0], 1)) : range[1] - range[0];
}
