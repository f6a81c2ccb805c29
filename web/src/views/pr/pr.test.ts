import { expect, test } from "vitest";
import { linesOf, stepsOf, type PrCurveAnswer } from "./pr_answers";

function packed(values: number[]) {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  return { f4: btoa(String.fromCharCode(...bytes)) };
}

function curve(run: string): PrCurveAnswer {
  return { run, step: 1, recall: packed([1, 0.5, 0]), precision: packed([0.25, 0.5, 1]), thresholds: packed([0, 0.5, 1]), average_precision: 0.5, best: { threshold: 0, f1: 0, precision: 0, recall: 0 } };
}

test("precision over ascending recall, each run in its own colour", () => {
  const lines = linesOf([curve("b")], ["a", "b"]);
  expect(lines).toEqual([{ name: "b", colour: 1, x: [0, 0.5, 1], y: [1, 0.5, 0.25] }]);
});

test("where recall does not change, the line goes from the first precision to the last", () => {
  const [line] = linesOf([{ ...curve("a"), recall: packed([1, 1, 1, 0.5]), precision: packed([0.25, 0.5, 0.75, 1]) }], ["a"]);
  expect([line!.x, line!.y]).toEqual([[0.5, 1 - 1e-9, 1], [1, 0.75, 0.25]]);
});

test("the slider has each step once", () => {
  expect(stepsOf([{ tag: "a", steps: [1, 10] }, { tag: "b", steps: [2, 10] }])).toEqual([1, 2, 10]);
  expect(stepsOf([])).toEqual([]);
});
