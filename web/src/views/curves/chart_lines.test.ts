import { expect, test } from "vitest";
import { chartGroups, linesOfChart, seriesCharts, tagsOf, valueAt, withCharts, type ChartsAnswer } from "./chart_lines";
import type { Curve, TagCurves } from "./curve_answers";

const DRAWN = { smoothing: 0, logX: false, range: null, runs: ["a"], by: "" };

function curve(run: string, y: number[], x = y.map((_, place) => place)): Curve {
  return { run, points: { x, y }, means: { x, y }, all: y.length, extent: [0, y.length], values: null, counts: { nan: 0, inf: 0, "-inf": 0 } };
}

function found(curves: Record<string, Curve[]>): Map<string, TagCurves> {
  return new Map(Object.entries(curves).map(([tag, each]) => [tag, { curves: each, groups: [] }]));
}

const ANSWER: ChartsAnswer = {
  series: [{ tag: "loss", lines: [{ name: "train", tag: "loss/train" }, { name: "val", tag: "loss/val" }] }],
  categories: [
    { title: "Money", closed: true, charts: [{ title: "both", lines: [{ name: "p", tag: "p" }], left_out: 0 }, { title: "band", lines: [{ name: "p", tag: "p", lower: "lo", upper: "hi" }] }] },
    { title: "", closed: false, charts: [{ title: "rest", lines: [] }] },
  ],
};

test("the series of a chart stand together where the first of them stood", () => {
  const series = seriesCharts(ANSWER, ["acc", "loss/train", "lr", "loss/val"]);
  expect(withCharts(["acc", "loss/train", "lr", "loss/val"], series)).toEqual(["acc", "loss", "lr"]);
});

test("a curve with the tag of a chart stays a curve", () => {
  const tags = ["loss", "loss/train", "loss/val"];
  const series = seriesCharts(ANSWER, tags);
  expect(withCharts(tags, series)).toEqual(["loss", "loss (series)"]);
  expect(withCharts(["a"], seriesCharts(null, ["a"]))).toEqual(["a"]);
});

test("a layout's categories keep their order, and a filter looks at titles and tags", () => {
  const all = chartGroups(ANSWER, () => true);
  expect(all.map(({ name, closed, charts }) => [name, closed, charts.length])).toEqual([["Money", true, 2], ["default", false, 1]]);
  expect(chartGroups(ANSWER, (text) => text === "lo").map(({ charts }) => charts.map(({ title }) => title))).toEqual([["band"]]);
  expect(tagsOf(all[0]!.charts[1]!)).toEqual(["p", "lo", "hi"]);
});

test("lines are called by their series, and by their run where there are several", () => {
  const curves = found({ "loss/train": [curve("a", [1, 2])], "loss/val": [curve("a", [3, 4])] });
  const chart = seriesCharts(ANSWER, []).get("loss")!;
  expect(linesOfChart(curves, chart, DRAWN).map(({ name, colour }) => [name, colour])).toEqual([["train", 0], ["val", 1]]);
  const both = found({ "loss/train": [curve("a", [1]), curve("b", [1])], "loss/val": [curve("b", [1])] });
  expect(linesOfChart(both, chart, { ...DRAWN, runs: ["a", "b"] }).map(({ name }) => name)).toEqual(["a · train", "b · train", "b · val"]);
});

test("a band is that of the same run, at the points of its curve", () => {
  const chart = chartGroups(ANSWER, () => true)[0]!.charts[1]!;
  const curves = found({ p: [curve("a", [1, 2, 3])], lo: [curve("a", [0, 2], [0, 2])], hi: [curve("a", [2, 4], [0, 2])] });
  const [line] = linesOfChart(curves, chart, DRAWN);
  expect([line!.low, line!.high]).toEqual([[0, 1, 2], [2, 3, 4]]);
  expect(linesOfChart(found({ p: [curve("a", [1])], lo: [curve("b", [0])] }), chart, DRAWN)[0]!.low).toBeUndefined();
});

test("between two points the value lies on the line between them", () => {
  const points = { x: [0, 2, 2, 4], y: [0, 2, 10, 20] };
  expect([0, 1, 3, 4, 5, -1].map((at) => valueAt(points, at))).toEqual([0, 1, 15, 20, NaN, NaN]);
  expect(valueAt({ x: [], y: [] }, 0)).toBeNaN();
});
