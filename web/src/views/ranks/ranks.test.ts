import { expect, test } from "vitest";
import { agreementInWords, oddness, type Rank } from "./ranks";

function rank(number: number, more: Partial<Rank> = {}): Rank {
  return { rank: number, status: "running", phase: "training", host: null, last_step: 100, silent_s: 1, step_s: 0.1, wait_s: null, memory_bytes: null, weight_norm: 1, loss: 0.5, curve: null, ...more };
}

const ALIKE = [rank(0), rank(1), rank(2), rank(3)];

test("ranks that are alike do not stand out, nor does one that is a step behind while it is read", () => {
  const all = [...ALIKE, rank(4, { last_step: 99 })];
  expect(all.map((each) => oddness(each, all))).toEqual([[], [], [], [], []]);
});

test("a rank stands out by being behind, slow, silent, held up by its data or lost", () => {
  const odd = (more: Partial<Rank>) => {
    const one = rank(9, more);
    return oddness(one, [...ALIKE.map((each) => ({ ...each, wait_s: 0.001 })), one]);
  };
  expect(odd({ last_step: 90 })).toEqual(["10 steps behind"]);
  expect(odd({ step_s: 0.2 })).toEqual(["slower than the others"]);
  expect(odd({ silent_s: 125 })).toEqual(["nothing written for 2 min 5 s"]);
  expect(odd({ wait_s: 0.05 })).toEqual(["waits for data, 50 ms a step"]);
  expect(odd({ loss: "nan" })).toEqual(["loss not finite"]);
  expect(odd({ status: "killed" })).toEqual(["did not end well"]);
});

test("when all ranks have ended long ago, none is silent", () => {
  const all = [rank(0, { silent_s: 9000, status: "finished" }), rank(1, { silent_s: 9001, status: "finished" })];
  expect(all.flatMap((each) => oddness(each, all))).toEqual([]);
});

test("whether they train one model is said with its step, and sharded weights are not called a fault", () => {
  const told = { steps: 40, last_step: 80, first_apart: null, from_start: false, ranks: [] };
  expect(agreementInWords(told, 4)).toContain("at all 40 steps that were compared");
  expect(agreementInWords({ ...told, first_apart: 12, ranks: [3] }, 4)).toContain("Rank 3 left the others at step 12");
  expect(agreementInWords({ ...told, first_apart: 12, ranks: [0, 1] }, 2)).toContain("The ranks parted at step 12");
  expect(agreementInWords({ ...told, first_apart: 1, from_start: true, ranks: [0, 1] }, 2)).toContain("FSDP");
  expect(agreementInWords(null, 2)).toContain("cannot be told");
});
