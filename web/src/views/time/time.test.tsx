import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, test } from "vitest";
import { cellsOf, nodeAt } from "./icicle";
import { Icicle } from "./Icicle";
import { MemoryArea, stacked } from "./MemoryArea";
import { reason } from "./index";
import { Split } from "./Split";
import { linesOf, untold, type Node, type Timing } from "./timing";

const place = document.createElement("div");
document.body.append(place);
afterEach(() => render(null, place));

const MODEL: Node = {
  name: "net",
  seconds: 10,
  children: [
    { name: "conv", seconds: 6, children: [{ name: "aten::conv2d", seconds: 6, children: [] }] },
    { name: "head", seconds: 2, children: [] },
  ],
};
const NOTHING: Timing = { steps: null, slowest: [], split: null, modules: null, memory: null, cost: null };

test("a split says its shares in words, and its parts are as wide as their time", () => {
  act(() => render(<Split label="A step" parts={[{ name: "forward", seconds: 3 }, { name: "other", seconds: 1, rest: true }]} />, place));
  expect(place.querySelector("[role=img]")!.getAttribute("aria-label")).toBe("A step: forward 75 %, other 25 %");
  expect([...place.querySelectorAll<HTMLElement>(".time-part")].map((part) => part.style.flexGrow)).toEqual(["3", "1"]);
});

test("a split of nothing is not drawn", () => {
  act(() => render(<Split label="A step" parts={[{ name: "forward", seconds: 0 }]} />, place));
  expect(place.innerHTML).toBe("");
});

test("a part stands below its whole, as wide as its share", () => {
  const cells = cellsOf(MODEL).map(({ node, depth, start, width }) => [node.name, depth, start, Number(width.toFixed(3))]);
  expect(cells).toEqual([
    ["net", 0, 0, 1],
    ["conv", 1, 0, 0.6],
    ["aten::conv2d", 2, 0, 0.6],
    ["head", 1, 0.6, 0.2],
  ]);
});

test("parts that claim more than their whole stay inside it, and what is too narrow is left out", () => {
  const odd: Node = { name: "net", seconds: 1, children: [{ name: "a", seconds: 3, children: [] }, { name: "b", seconds: 1, children: [] }] };
  expect(cellsOf(odd).map((cell) => cell.node.name)).toEqual(["net", "a"]);
  expect(cellsOf({ name: "net", seconds: 0, children: [{ name: "a", seconds: 0, children: [] }] })).toHaveLength(1);
  expect(nodeAt(MODEL, ["conv", "gone"]).name).toBe("conv");
});

test("a press on a part makes it the whole, and there is a way back", () => {
  act(() => render(<Icicle root={MODEL} label="Time by module" />, place));
  const press = (words: string) => act(() => [...place.querySelectorAll("button")].find((each) => (each.getAttribute("aria-label") ?? each.textContent).startsWith(words))!.click());
  press("conv:");
  expect(place.textContent).not.toContain("head");
  press("Back to net");
  expect(place.textContent).toContain("head");
});

test("memory is stacked, and its peak is told", () => {
  expect(stacked([[1, 2], [10, 20]])).toEqual([
    { lower: [0, 0], upper: [1, 2] },
    { lower: [1, 2], upper: [11, 22] },
  ]);
  act(() => render(<MemoryArea memory={{ steps: [1, 9], categories: { weights: [1e9, 1e9], activations: [0, 2e9] }, peak: { weights: 1e9, activations: 3e9 } }} />, place));
  expect(place.querySelector("svg")!.getAttribute("aria-label")).toBe("Memory from step 1 to 9: weights at most 1 GB, activations at most 2 GB.");
  expect(place.textContent).toContain("activations 3 GB at its peak");
});

test("what is not recorded is said in one sentence, and nothing where all is there", () => {
  expect(untold(NOTHING)).toBe("Not recorded in this run: how a step divides into transfer, forward, backward and optimizer, the time of each module and memory over time.");
  const parts = ["a", "b", "c"].map((name) => ({ name, seconds: 1 }));
  const memory = { steps: [], categories: {}, peak: {} };
  expect(untold({ ...NOTHING, split: parts, modules: MODEL })).toBe("Not recorded in this run: memory over time.");
  expect(untold({ ...NOTHING, split: parts, modules: MODEL, memory })).toBe("");
});

test("a stretch of several steps keeps its slowest, and a wait that never was has no line", () => {
  const one = { from: 1, to: 1, mean_s: 1, max_s: 1, wait_s: null };
  expect(linesOf([one]).map((line) => line.name)).toEqual(["step"]);
  expect(linesOf([{ ...one, to: 3, max_s: 9, wait_s: 0.1 }]).map((line) => line.name)).toEqual(["mean step", "slowest step", "waiting for data"]);
});

test("a slow step has the reason that is known, and none that is guessed", () => {
  const row = { step: 50, seconds: 1, wait_s: 0.1, looked_at: false, evaluated: false };
  expect(reason(row)).toBe("");
  expect(reason({ ...row, wait_s: 0.9, looked_at: true })).toBe("waited 900 ms for data, most of it; torch-debugger looked at it closely");
  expect(reason({ ...row, wait_s: 0.2 })).toBe("waited 200 ms for data");
  expect(reason({ ...row, evaluated: true })).toContain("an evaluation ran in it");
  expect(reason({ ...row, looked_at: true })).toContain("looked at it closely");
  expect(reason({ ...row, step: 1 })).toContain("first step");
});
