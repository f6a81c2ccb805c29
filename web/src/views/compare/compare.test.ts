import { expect, test } from "vitest";
import { diffLines, linesOf, same, titlesOf, type Topic } from "./comparison";
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

test("all chosen runs are drawn in their own colours; one without a loss has no line, and NaN stays in the other's", () => {
  const loss = { tag: "loss", steps: [1, 2], values: [1, "nan" as const] };
  const lines = linesOf(["a", "b", "c"], { runs: { c: loss, b: loss, a: null }, all: 3 }, (name) => `the ${name}`);
  expect(lines.map((line) => [line.name, line.colour])).toEqual([["the b", 1], ["the c", 2]]);
  expect(Array.from(lines[0]!.y)).toEqual([1, NaN]);
});

test("a run is called as the reader calls it, and two of one name are told apart", () => {
  const title = titlesOf(["a", "b", "c"], { a: { name: "best" }, b: { name: "best" }, c: { name: "" } });
  expect(["a", "b", "c"].map(title)).toEqual(["best (a)", "best (b)", "c"]);
  expect(titlesOf(["a", "c"], { a: { name: "best" } })("a")).toBe("best");
});
