import { expect, test } from "vitest";
import type { TagCurves } from "./curve_answers";
import { isWide } from "./curve_answers";
import { measuredInWords } from "./measured";

function curvesOf(all: number, ...values: [number, number][]): TagCurves {
  const none = { x: [], y: [] };
  return { curves: values.map((ends) => ({ run: "a", points: none, means: none, all, extent: null, values: ends, counts: { nan: 0, inf: 0, "-inf": 0 } })), groups: [] };
}

test("a curve of ours that has few points says why", () => {
  expect(measuredInWords("grad_norm", curvesOf(12, [1, 2]), 1200)).toBe("measured at 12 of 1,200 steps, within the cost budget");
  expect(measuredInWords("grad_norm", curvesOf(900, [1, 2]), 1200)).toBe("");
  expect(measuredInWords("user/loss", curvesOf(12, [1, 2]), 1200)).toBe("");
  expect(measuredInWords("grad_norm", null, 1200)).toBe("");
});

test("y is logarithmic by itself where all values are above zero and far apart", () => {
  expect(isWide(curvesOf(1, [0.7, 2e29]))).toBe(true);
  expect(isWide(curvesOf(1, [1, 100], [0.001, 50]))).toBe(true);
  expect(isWide(curvesOf(1, [1, 9000]))).toBe(false);
  expect(isWide(curvesOf(1, [0, 2e29]))).toBe(false);
  expect(isWide(curvesOf(0))).toBe(false);
});
