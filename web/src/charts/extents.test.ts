import { expect, test } from "vitest";
import { keptOnData, padded } from "./extents";

test("what differs by rounding alone is drawn as a level line", () => {
  const [low, high] = padded(0.001, 0.0010000000475, false);

  expect(low).toBeCloseTo(0.00095, 8);
  expect(high).toBeCloseTo(0.00105, 8);
});

test("a small true difference fills the picture", () => {
  const [low, high] = padded(1, 1.001, false);

  expect(high - low).toBeLessThan(0.0012);
});

test.each([
  [[40, 60], [40, 60]],
  [[-90, -70], [-10, 10]], // half of it stays on the data
  [[170, 190], [90, 110]],
  [[-60, 140], null], // twice as wide as all there is
] as const)("%j is kept on the data as %j", (range, kept) => {
  expect(keptOnData(range, [0, 100], false)).toEqual(kept);
});

test("on a log axis half of the decades stay on the data", () => {
  const [low, high] = keptOnData([1e6, 1e8], [1, 1e4], true)!;
  expect([Math.log10(low), Math.log10(high)].map(Math.round)).toEqual([3, 5]);
});
