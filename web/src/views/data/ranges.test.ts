import { expect, test } from "vitest";
import type { Look, Range } from "./answers";
import { hasOddNumbers, measuredOn } from "./Ranges";

function range(where: string, shape: number[], changes: Partial<Look>): Range {
  const look = { step: 1, low: 0, high: 1, mean: 0.5, std: 0.1, not_finite: 0, measured: null, ...changes };
  return { where, name: "x", shape, dtype: "float32", looks: [look] };
}

test("a row says on what part of the tensor it was measured", () => {
  expect(measuredOn(range("target of the loss", [32], { measured: 8 }))).toBe("the first 8 of 32 numbers");
  expect(measuredOn(range("into the first layer", [32, 3, 24, 24], { measured: 7904 }))).toBe("7,904 of 55,296 numbers");
  expect(measuredOn(range("from a loader", [32], { measured: 32 }))).toBe("all of it");
  expect(measuredOn(range("into the first layer", [32], { measured: null }))).toBe("a part of it");
});

test("NaN in the data is seen by its count and by the numbers themselves", () => {
  expect(hasOddNumbers([range("from a loader", [4], { measured: 4 })])).toBe(false);
  expect(hasOddNumbers([range("from a loader", [4], { not_finite: 2 })])).toBe(true);
  expect(hasOddNumbers([range("into the first layer", [4], { not_finite: null, mean: "nan" })])).toBe(true);
});
