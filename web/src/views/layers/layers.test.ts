import { expect, test } from "vitest";
import type { Grid, LedgerRow } from "./answers";
import { BLOCK, blocksOf, valueIn } from "./blocks";
import { changed, owner, state } from "./Ledger";
import { lookInWords, middle, valueTicks } from "./spread_words";
import { isSparse, mapInWords, matches, sayCell, sayValue, whyFewLooks } from "./words";

test("a number says its unit, and what is none says so", () => {
  expect(sayValue(0.905, "share")).toBe("90.5 %");
  expect(sayValue(12.34, "bits")).toBe("12.3 bits");
  expect(sayValue(null, "bits")).toBe("not measured");
  expect(sayValue("nan", "")).toBe("NaN");
  expect(sayValue(undefined, "")).toBe("being read");
});

test("the map has words for those who do not see it", () => {
  const grid: Grid = { number: "a", layers: ["m.0", "m.1"], steps: [1, 9], top: 0, values: [[1, "nan"], [null, "inf"]], range: { form: "linear", low: 0, high: 1, below: 0, above: 0 }, looks: 2, measured: 2, span: [1, 9], stands_out: [], marks: [] };
  const words = mapInWords({ key: "a", title: "Zeros", unit: "share", says: "", models: [] }, grid);
  expect(words).toBe("Zeros: 2 layers at 2 looks, steps 1 to 9. Colours from 0 % to 100 %. 2 cells are NaN or infinite.");
});

test("few looks are explained with the options that give more", () => {
  const words = whyFewLooks(6, 220, 0.02);
  expect(words).toContain("Measured at 6 of 220 steps");
  expect(words).toContain("within 2 % of the run's time");
  expect(words).toContain("--deep-steps 50");
  expect(whyFewLooks(6, 220, null)).toContain("the cost of watching small");
  expect(whyFewLooks(218, 220, 0.02)).toBe("");
});

test("a cell says what its number is", () => {
  const which = { key: "activation.std", title: "Deviation of outputs", unit: "", says: "", models: [] };
  expect(sayCell(1.02, which)).toBe("deviation of outputs 1.02");
  expect(sayCell("nan", which)).toBe("deviation of outputs NaN");
});

test("looks far apart are dots, looks at each step a line", () => {
  expect(isSparse([1, 2, 3, 40, 90])).toBe(true);
  expect(isSparse([1, 2, 3, 4, 5])).toBe(false);
});

test("a filter takes parts in any order", () => {
  expect(matches("model.Encoder.3.fc", "fc enc")).toBe(true);
  expect(matches("model.Encoder.3.fc", "fc dec")).toBe(false);
  expect(matches("anything", "")).toBe(true);
});

test("rows find their block", () => {
  expect(blocksOf([0, 1, BLOCK, 5 * BLOCK + 3, 2])).toEqual([0, 1, 5]);
  const blocks = new Map([[1, [[7, 8]]]]);
  expect(valueIn(blocks, BLOCK, 1)).toBe(8);
  expect(valueIn(blocks, 0, 0)).toBeUndefined();
});

const ROW: LedgerRow = { name: "m.w", shape: [2, 3], dtype: "float32", device: "cpu", trainable: true };

test("the ledger says what is known and what is not", () => {
  expect(changed(ROW)).toBe("not measured");
  expect(changed({ ...ROW, compared_at: 40 })).toBe("never, up to step 40");
  expect(changed({ ...ROW, compared_at: 40, changed_at: 1200 })).toBe("step 1,200");
  expect(owner(ROW)).toBe("no optimizer");
  expect(owner({ ...ROW, optimizer: "opt", optimizer_kind: "Adam", groups: 2, group: 1, lr: 0.001 })).toBe("opt (Adam), group 1, lr 0.001");
  expect(owner({ ...ROW, optimizer: "opt", optimizer_kind: "Adam", groups: 2 })).toBe("opt (Adam), one of 2 groups");
  expect(state({ ...ROW, trainable: false, gradient: "none" })).toBe("frozen, no gradient");
});

test("a spread in words", () => {
  expect(middle([0, 1, 2], [0.5, 0.5])).toBe(1);
  expect(middle([0, 1, 2], [0, 1])).toBe(1.5);
  expect(middle([0, 1], [0])).toBeNaN();
  const spread = { of: "weight_spread", name: "m.w", steps: [5], edges: [0, 1, 2], parts: [[0, 0.5]], outside: [0], not_finite: [0.5] };
  expect(lookInWords(spread, 0)).toBe("Step 5: half of the values lie below 1.5, 50 % NaN or infinite.");
  expect(valueTicks([-1.03, 1.1])).toEqual([-1, -0.5, 0, 0.5, 1]);
});
