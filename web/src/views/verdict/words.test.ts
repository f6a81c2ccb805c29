import { expect, test } from "vitest";
import type { About } from "../../answers";
import type { LossCurve, ToldFinding, VerdictAnswer } from "./answers";
import { headline, isWide, keyOfFinding, moment, oddSentence, runSentence, signalSentence } from "./words";

const about: About = {
  run: "a", status: "finished", ended_by: null, watched: true, steps: 120, script: "/home/me/train.py", started: null, duration_s: 1,
  loss_tag: "loss", tags: {}, has: {}, ranks: 1, damage: [],
};
const loss: LossCurve = { tag: "loss", steps: [1, 2, 3], values: [2.303, 0.5, 0.041], all_points: 3 };
const answer: VerdictAnswer = { has_verdict: false, judged_to: null, counted: "optimizer steps", counted_one: "optimizer step", without_a_step: null, chapters: [], more_chapters: 0, crash: null, loss };
const finding: ToldFinding = {
  check: "TD101", name: "missing-zero-grad", severity: "error", status: "stable", confidence: 1, message: "", why: "",
  fix: "", where: { file: "train.py", line: 3 }, first_step: 2, last_step: 13, evidence: {}, code: [], diff: null,
};

test("the run in one sentence, also before its first step", () => {
  expect(runSentence(about, answer)).toBe("train.py finished after 120 optimizer steps; the loss went from 2.303 to 0.041.");
  expect(runSentence({ ...about, steps: 1, status: "running" }, answer)).toContain("has done 1 optimizer step;");
  expect(runSentence({ ...about, steps: 0, status: "crashed" }, answer)).toBe("train.py crashed before its first step was done.");
  const passes = { ...answer, counted: "backward passes", counted_one: "backward pass", loss: null };
  expect(runSentence({ ...about, steps: 1 }, passes)).toBe("train.py finished after 1 backward pass.");
});

test("a script that trained nothing is described as in the report", () => {
  const seen = "look.py finished: `net` (Net) was called once; no backward() and no optimizer step was seen.";
  expect(runSentence({ ...about, steps: 0 }, { ...answer, without_a_step: { seen, next: "" } })).toBe(seen);
});

test("a run that a signal ended says which", () => {
  expect(headline({ ...about, status: "killed", ended_by: "signal 9 (SIGKILL)" })).toBe("The run was killed by signal 9 (SIGKILL); up to there nothing wrong was found.");
  expect(signalSentence({ ...about, ended_by: "signal 9 (SIGKILL)" })).toContain("ran out of memory");
  expect(signalSentence(about)).toBe("");
});

test("a run that has written nothing yet is starting, and not another tool's", () => {
  const early = { ...about, status: "starting" as const, watched: false, steps: 0 };

  expect(headline(early)).toBe("The run is starting.");
  expect(runSentence(early, { ...answer, loss: null })).toBe("Nothing is in its log yet. This page looks again by itself.");
});

test("what is judged in part is not called right", () => {
  expect(headline({ ...about, status: "killed" }, 12000)).toBe("Nothing wrong found up to step 12,000; the rest is being judged.");
});

test("no verdict is told as what it is", () => {
  const heads = [about, { ...about, status: "running" as const }, { ...about, watched: false }, { ...about, status: "crashed" as const }].map((each) => headline(each));
  expect(heads).toEqual([
    "Nothing wrong found.",
    "Nothing wrong so far.",
    "Nothing watched this run.",
    "The script crashed, and no check recognised the cause.",
  ]);
});

test("a fault holds since its step, a crash is at one", () => {
  expect(moment(finding, about)).toBe("since step 2");
  expect(moment({ ...finding, first_step: 7, last_step: 7 }, { ...about, status: "crashed", steps: 7 })).toBe("at step 7");
  expect(moment({ ...finding, first_step: 0 }, about)).toBe("");
});

test("what is not finite is counted, and a wide range is seen", () => {
  expect(oddSentence({ ...loss, values: [1, "nan", "inf"] })).toBe("2 values are NaN or Inf, the first at step 2.");
  expect(oddSentence(loss)).toBe("");
  expect([isWide(loss), isWide({ ...loss, values: [1, 3] }), isWide({ ...loss, values: [0, 100] }), isWide({ ...loss, values: ["nan"] })]).toEqual([true, false, false, false]);
});

test("two findings of one check have keys of their own", () => {
  expect(keyOfFinding(finding)).toBe("missing-zero-grad@train.py:3");
  expect(keyOfFinding({ ...finding, where: { module: "net.fc1" } })).toBe("missing-zero-grad@net.fc1");
});
