import { expect, test } from "vitest";
import { chartInWords } from "./alternative";
import { hasAnything, pointsIn } from "./in_sight";
import type { Line } from "./lines";

const line: Line = { name: "loss", x: new Int32Array([0, 10, 20, 30, 40]), y: new Float32Array([5, 4, NaN, 2, 1]) };

test("the points in sight are those between its ends, with both of them", () => {
  expect(pointsIn(line, [10, 30])).toEqual({ x: [10, 20, 30], y: [4, NaN, 2] });
  expect(pointsIn(line, [11, 19])).toEqual({ x: [], y: [] });
  expect(pointsIn(line, null).x).toHaveLength(5);
});

test.each([
  [[11, 19], null, true], // the line between two points
  [[41, 50], null, false],
  [[-9, -1], null, false],
  [[0, 15], [6, 9], false],
  [[0, 15], [4.5, 4.6], true],
  [[15, 25], [90, 99], true], // NaN is marked at the edge of every picture
  [[31, 39], [90, 99], false],
] as const)("in %j, %j there is something: %j", (sight, heights, something) => {
  expect(hasAnything([line], sight, heights)).toBe(something);
});

test("words tell the first and the last of what is in sight", () => {
  expect(chartInWords("loss", "step", [line], [5, 25])).toContain("First 4 at step 10, last NaN at step 20");
  expect(chartInWords("loss", "step", [line], [5, 25])).toContain("1 NaN in all");
  expect(chartInWords("loss", "step", [line], [50, 60])).toContain("No points in sight.");
  expect(chartInWords("loss", "step", [line], null)).toContain("last 1 at step 40, least 1, most 5, 1 NaN.");
});
