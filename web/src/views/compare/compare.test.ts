import { expect, test } from "vitest";
import { diffLines, linesOf, same, type Comparison, type Topic } from "./comparison";
import { pairOf } from "./index";

const topic: Topic = { name: "model", differences: [], all_differences: 0, lines: [], all_lines: 0, unseen: "" };

test("a diff is read line by line, and a removed decrement is no head of a file", () => {
  const marks = diffLines(["--- a.py", "+++ b.py", "@@ -1 +1 @@", " kept", "-gone", "+new", "--x", "+"]).map((line) => `${line.mark}|${line.text}`);
  expect(marks).toEqual(["@|--- a.py", "@|+++ b.py", "@|@@ -1 +1 @@", " |kept", "-|gone", "+|new", "-|-x", "+|"]);
});

test("what could not be compared is not called the same", () => {
  const topics = [topic, { ...topic, name: "code", unseen: "no source" }, { ...topic, name: "data", all_differences: 1 }];
  expect(same(topics)).toEqual(["model"]);
});

test("a pair is never one run against itself", () => {
  expect(pairOf(["a", "b", "c"])).toEqual(["a", "b"]);
  expect(pairOf(["a", "b", "c"], "b", "b")).toEqual(["b", "a"]);
  expect(pairOf(["a", "b", "c"], "gone", "a")).toEqual(["b", "a"]);
});

test("a run without a loss has no line, and NaN stays in the other's", () => {
  const lines = linesOf({ runs: ["a", "b"], losses: [null, { tag: "loss", steps: [1, 2], values: [1, "nan"] }] } as unknown as Comparison);
  expect(lines.map((line) => line.name)).toEqual(["b"]);
  expect(Array.from(lines[0]!.y)).toEqual([1, NaN]);
});
