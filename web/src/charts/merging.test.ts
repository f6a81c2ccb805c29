import { expect, test } from "vitest";
import { mergeLines, nearest } from "./merging";

test("lines with their own x become columns of one", () => {
  const one = { x: [0, 2, 4], y: [1, 2, 3] };
  const other = { x: [1, 2, 5], y: [7, 8, 9] };
  expect(mergeLines([one, other])).toEqual([
    [0, 1, 2, 4, 5],
    [1, undefined, 2, 3, undefined],
    [undefined, 7, 8, undefined, 9],
  ]);
});

test("a point that is not finite breaks its line and no other", () => {
  const merged = mergeLines([
    { x: [0, 1, 2], y: [1, NaN, 3] },
    { x: [0, 1, 2], y: [4, 5, Infinity] },
  ]);
  expect(merged).toEqual([[0, 1, 2], [1, null, 3], [4, 5, null]]);
});

test("two points at one step are both kept", () => {
  expect(mergeLines([{ x: [1, 1, 2], y: [5, 6, 7] }, { x: [1], y: [9] }])).toEqual([[1, 1, 2], [5, 6, 7], [9, undefined, undefined]]);
});

test("nothing at all is no row", () => {
  expect(mergeLines([])).toEqual([[]]);
  expect(mergeLines([{ x: [], y: [] }])).toEqual([[], []]);
});

test.each([
  [[0, 10, 20], -5, 0],
  [[0, 10, 20], 4, 0],
  [[0, 10, 20], 6, 1],
  [[0, 10, 20], 99, 2],
  [[], 3, -1],
])("the nearest of %j to %d", (xs, x, place) => {
  expect(nearest(xs, x)).toBe(place);
});
