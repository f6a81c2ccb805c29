// Charts of several curves: those of add_scalars, and those that a layout of add_custom_scalars asks for.
import type { Line, Points } from "../../charts/lines";
import { smooth } from "../../charts/smoothing";
import { extentOf, linesOf, type Drawn, type TagCurves } from "./curve_answers";

export interface ChartLine {
  name: string;
  tag: string;
  /** The tags of a band around it. */
  lower?: string;
  upper?: string;
}

/** A chart as this view keeps it: `key` stands in the address when it is open. */
export interface SharedChart {
  key: string;
  title: string;
  lines: ChartLine[];
  /** Lines beyond the most that a chart shows. */
  left_out?: number;
  /** The tags and patterns of its layout, to be named where nothing fits. */
  asked?: string[];
}

/** /ask/scalar_charts */
export interface ChartsAnswer {
  series: { tag: string; lines: ChartLine[] }[];
  categories: { title: string; closed: boolean; charts: Omit<SharedChart, "key">[] }[];
}

export interface ChartGroup {
  name: string;
  closed: boolean;
  charts: SharedChart[];
}

export function tagsOf({ lines }: SharedChart): string[] {
  return [...new Set(lines.flatMap(({ tag, lower, upper }) => [tag, lower, upper].filter((each) => each !== undefined)))];
}

/** The charts of add_scalars by their tags; one that is also the tag of a curve has a word more. */
export function seriesCharts(answer: ChartsAnswer | null, tags: readonly string[]): Map<string, SharedChart> {
  const known = new Set(tags);
  const charts = (answer?.series ?? []).map(({ tag, lines }) => ({ key: known.has(tag) ? `${tag} (series)` : tag, title: tag, lines }));
  return new Map(charts.map((chart) => [chart.key, { ...chart, title: chart.key }]));
}

/** The categories of a layout, with the charts in which a tag or the title fits the filter. */
export function chartGroups(answer: ChartsAnswer | null, matches: (text: string) => boolean): ChartGroup[] {
  const groups = (answer?.categories ?? []).map(({ title, closed, charts }) => ({
    name: title || "default",
    closed,
    charts: charts.map((chart) => ({ ...chart, key: `${title}: ${chart.title}` })).filter((chart) => matches(chart.title) || tagsOf(chart).some(matches)),
  }));
  return groups.filter((group) => group.charts.length);
}

/** Tags, with the series of a chart replaced by its key, where the first of them stood. */
export function withCharts(tags: readonly string[], series: ReadonlyMap<string, SharedChart>): string[] {
  const owner = new Map([...series.values()].flatMap((chart) => chart.lines.map(({ tag }): [string, string] => [tag, chart.key])));
  return [...new Set(tags.map((tag) => owner.get(tag) ?? tag))];
}

export function linesOfChart(found: ReadonlyMap<string, TagCurves>, chart: SharedChart, drawn: Drawn): Line[] {
  const several = drawn.runs.length > 1;
  const lines = chart.lines.flatMap((wanted) => {
    const curves = found.get(wanted.tag);
    if (!curves) return [];
    return linesOf(curves, wanted.name, drawn).map((line, place) => ({
      ...line,
      ...band(found, wanted, curves.curves[place]?.run, line, drawn),
      name: several || curves.groups.length ? `${line.name} · ${wanted.name}` : wanted.name,
    }));
  });
  return lines.map((line, colour) => ({ ...line, colour }));
}

/** The curves around one, at its own x: what is sent of each curve is chosen by itself. */
function band(found: ReadonlyMap<string, TagCurves>, { lower, upper }: ChartLine, run: string | undefined, line: Points, drawn: Drawn): Partial<Line> {
  const [low, high] = [lower, upper].map((tag) => (tag === undefined || run === undefined ? undefined : found.get(tag)?.curves.find((curve) => curve.run === run)));
  if (!low || !high) return {};
  const range = drawn.range ?? extentOf([low]);
  const along = (points: Points) => {
    const even = drawn.smoothing > 0 ? smooth(points, drawn.smoothing, range ? range[1] - range[0] : 0, drawn.logX) : points;
    return Array.from(line.x, (x) => valueAt(even, x));
  };
  return { low: along(low.means), high: along(high.means) };
}

/** On the straight line between the points on either side; beyond the ends there is nothing. */
export function valueAt({ x, y }: Points, at: number): number {
  let low = 0;
  let high = x.length - 1;
  if (high < 0 || at < x[0]! || at > x[high]!) return NaN;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle]! <= at) low = middle;
    else high = middle;
  }
  if (x[high] === at) return y[high]!;
  const share = x[high]! > x[low]! ? (at - x[low]!) / (x[high]! - x[low]!) : 0;
  return y[low]! + share * (y[high]! - y[low]!);
}
