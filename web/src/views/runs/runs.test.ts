import { expect, test } from "vitest";
import { shownColumns } from "./choosing";
import { columnsFor, noVerdict } from "./columns";
import { tagsIn } from "./EditDialog";
import { chosenRuns, patternOf, sorted } from "./finding";
import { inOrderOfNeed } from "./listing";
import { constant, differing, listed, metricsOf, titleOf, type Details, type Label, type Listed, type Row } from "./rows";
import { windowOf } from "./scrolling";
import { footnote, summary } from "./words";

const ANY = { text: "", severity: "", status: "", tag: "" };

function run(name: string, row: Partial<Row> = {}, details?: Details, label?: Label): Listed {
  return listed({ name, changed: 1, size_bytes: 10, status: "finished", steps: 5, ...row }, details, label);
}

function names(runs: readonly Listed[]): string[] {
  return runs.map((each) => each.name);
}

test("only hyperparameters with several values are columns, and none twice under a longer name", () => {
  const runs = [
    run("a", {}, { hparams: { lr: 0.1, "optimizer.lr": 0.1, seed: 0, width: 32, decay: 0.2 } }),
    run("b", {}, { hparams: { lr: 0.2, "optimizer.lr": 0.2, seed: 0, width: 32, "model.decay": 1 } }),
    run("c", {}, { hparams: { "optimizer.lr": 0.3, decay: 0.1 } }),
    run("d"),
  ];
  expect(differing(runs)).toEqual(["optimizer.lr", "decay"]);
});

test("two hyperparameters that share their last word and disagree are both shown", () => {
  const runs = [run("a", {}, { hparams: { "enc.lr": 1, "dec.lr": 2 } }), run("b", {}, { hparams: { "enc.lr": 2, "dec.lr": 1 } })];
  expect(differing(runs)).toHaveLength(2);
});

test("a column in which all runs are the same is shown when it is asked for, one that differs unless it is not wanted", () => {
  const runs = [run("a", { steps: 5 }, { hparams: { lr: 0.1, seed: 0 } }), run("b", { steps: 6 }, { hparams: { lr: 0.2, seed: 0 } })];
  const all = columnsFor([...differing(runs), ...constant(runs)]);
  const keys = (wishes: Record<string, boolean>) => shownColumns(all, runs, wishes).map((column) => column.key);
  expect(keys({})).toEqual(["name", "verdict", "loss", "curve", "hparam:lr", "steps"]);
  expect(keys({ "hparam:seed": true, "hparam:lr": false, name: false })).toEqual(["name", "verdict", "loss", "curve", "hparam:seed", "steps"]);
  expect(shownColumns(all, runs.slice(0, 1), {}).map((column) => column.key)).toContain("status");
});

test("numbers sort as numbers, names as people count, and what is not known comes last both ways", () => {
  const runs = [run("run10", { loss: 2 }), run("run9", { loss: null }), run("run1", { loss: "nan" }), run("run2", { loss: 0.5 })];
  expect(names(sorted(runs, "name", false))).toEqual(["run1", "run2", "run9", "run10"]);
  expect(names(sorted(runs, "loss", false))).toEqual(["run2", "run10", "run1", "run9"]);
  expect(names(sorted(runs, "loss", true))).toEqual(["run1", "run10", "run2", "run9"]);
});

test("the worst verdict comes first", () => {
  const runs = [run("fine"), run("warned", { severity: "warning" }), run("bad", { severity: "error" })];
  expect(names(sorted(runs, "verdict", false))).toEqual(["bad", "warned", "fine"]);
});

test("a filter looks at names, tags and hyperparameters, by pattern", () => {
  const runs = [run("a", {}, { hparams: { lr: 0.1 } }), run("b", {}, undefined, { tags: ["paper"], name: "best" }), run("c", { severity: "error" })];
  expect(names(chosenRuns(runs, { ...ANY, text: "lr=0\\.1" }))).toEqual(["a"]);
  expect(names(chosenRuns(runs, { ...ANY, text: "^(PAPER|zzz)$" }))).toEqual(["b"]);
  expect(names(chosenRuns(runs, { ...ANY, text: "best" }))).toEqual(["b"]);
  expect(names(chosenRuns(runs, { ...ANY, tag: "paper" }))).toEqual(["b"]);
  expect(names(chosenRuns(runs, { ...ANY, severity: "none" }))).toEqual(["a", "b"]);
});

test("a broken pattern is plain text, and said", () => {
  const { matches, problem } = patternOf("a[");
  expect(matches("xA[y")).toBe(true);
  expect(problem).toContain("Not a valid pattern");
});

test("a run without a result is told by its log, one with a result by that", () => {
  const details: Details = { status: "running", steps: 7, curve: { steps: [1, 2], values: [3, 2] }, severity: "error", verdict: "x", message: "m" };
  const going = run("a", { status: "unknown", steps: null }, details);
  expect([going.status, going.steps, going.loss, going.severity]).toEqual(["running", 7, 2, "error"]);
  expect(run("a", { steps: 5, loss: 1 }, details).loss).toBe(1);
});

test("no verdict is said for what it is", () => {
  expect(noVerdict(run("a"))).toBe("Nothing wrong found");
  expect(noVerdict(run("a", { status: "running" }))).toBe("Nothing found so far");
  expect(noVerdict(run("a", {}, { watched: false }))).toContain("Not watched");
  expect(noVerdict(run("a", { status: null }))).toBe("Not read yet");
  expect(titleOf(run("a", {}, undefined, { name: "" }))).toBe("a");
});

test("of many rows those in sight are in the page, and never none", () => {
  expect(windowOf(0, 600, 40, 10_000)).toEqual({ first: 0, end: 23 });
  expect(windowOf(400_000, 600, 40, 10_000).end).toBe(10_000);
  expect(windowOf(99_999, 600, 40, 3)).toEqual({ first: 2, end: 3 });
  expect(windowOf(0, 600, 40, 0)).toEqual({ first: 0, end: 0 });
});

test("logs in sight are read first, and those out of sight only where they are few", () => {
  const few = ["a", "b", "c"].map((name) => run(name));
  expect(inOrderOfNeed(few, ["c"]).map((row) => row.name)).toEqual(["c", "a", "b"]);
  const many = Array.from({ length: 301 }, (_, place) => run(`r${place}`));
  expect(inOrderOfNeed(many, ["r5"]).map((row) => row.name)).toEqual(["r5"]);
});

test("the sentences count", () => {
  const runs = [run("a", { severity: "error" }), run("b", { status: "running" }, {})];
  expect(summary(runs, 0)).toBe("2 runs, 1 with an error, 1 running.");
  expect(summary(runs, 1200)).toContain("reading 1,200 more");
  expect(footnote(runs)).toBe("Hyperparameters and curves are read as rows come into sight: of 1 of 2 runs so far; sorting by them puts the others last.");
  expect(tagsIn(" a, b ,,a")).toEqual(["a", "b"]);
});

test("metrics of add_hparams are columns behind the hyperparameters, and sort as numbers", () => {
  const runs = [run("a", {}, { hparams: { lr: 1 }, hparam_metrics: { "hparam/accuracy": 0.5, "hparam/lr": 3 } }), run("b", {}, { hparams: { lr: 2 }, hparam_metrics: { "hparam/accuracy": "nan" } })];
  expect(metricsOf(runs)).toEqual(["hparam/accuracy", "hparam/lr"]);
  const columns = shownColumns(columnsFor(differing(runs), metricsOf(runs)), runs, {});
  expect(columns.map((column) => column.title).slice(4)).toEqual(["lr", "accuracy", "hparam/lr"]);
  expect(names(sorted(runs, "metric:hparam/accuracy", false))).toEqual(["a", "b"]);
  expect(names(chosenRuns(runs, { ...ANY, text: "accuracy=0\\.5" }))).toEqual(["a"]);
});
