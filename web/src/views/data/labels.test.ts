import { expect, test } from "vitest";
import type { Sample } from "./answers";
import { labelsOf } from "./labels";
import { pathOf } from "./SeriesGrid";

function tensor(changes: Partial<Sample>): Sample {
  return {
    step: 1, role: "target", root: "loss", name: "NllLoss", kind: "values", shape: [32], dtype: "int64", low: 0, high: 9, mean: 1, std: 1,
    not_finite: 0, kept: [2], note: "", padding: null, ...changes,
  };
}

const input = tensor({ role: "input", kind: "image", shape: [32, 3, 8, 8], kept: [3, 3, 8, 8] });

test("a class stands below its sample, and nothing below those without one", () => {
  expect(labelsOf(input, [tensor({ numbers: [4, 7] })])).toEqual(["class 4", "class 7", null]);
});

test("a class that has a name goes by it", () => {
  expect(labelsOf(input, [tensor({ numbers: [1, 7] })], ["cat", "dog"])).toEqual(["dog", "class 7", null]);
});

test("targets of another batch size are no labels", () => {
  expect(labelsOf(input, [tensor({ shape: [31], numbers: [4, 7] })])).toEqual([null, null, null]);
});

test("several classes at once, and numbers of a regression", () => {
  const many = tensor({ name: "BinaryCrossEntropyWithLogits", kind: "vectors", kept: [2, 4], numbers: [0, 1, 0, 1, 0, 0, 0, 0] });
  expect(labelsOf(input, [many])).toEqual(["classes 1, 3", "no class", null]);
  const numbers = tensor({ name: "MseLoss", kind: "vectors", kept: [1, 2], numbers: [0.25, -1.5] });
  expect(labelsOf(input, [numbers])[0]).toBe("0.25, -1.5");
});

test("a line has a gap where a number is not finite", () => {
  expect(pathOf([0, NaN, 1, 1], 0, 1).match(/M/g)).toHaveLength(2);
});
