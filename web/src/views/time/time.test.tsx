import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, test } from "vitest";
import type { Node } from "../../icicle/cells";
import { MemoryArea, MemoryUseArea, stacked } from "./MemoryArea";
import { reason } from "./index";
import { SampledLines } from "./SampledLines";
import { Split } from "./Split";
import { linesOf, untold, type Sampled, type Timing } from "./timing";

const place = document.createElement("div");
document.body.append(place);
afterEach(() => render(null, place));

const MODEL: Node = { name: "net", seconds: 10, children: [{ name: "conv", seconds: 6, children: [] }] };
const NOTHING: Timing = { steps: null, slowest: [], split: null, modules: null, sampled: [], memory: null, cost: null };

const SAMPLED: Sampled = {
  who: "training",
  name: "training thread",
  period_s: 0.02,
  root: {
    key: "training",
    name: "training thread",
    about: "",
    quiet: false,
    samples: 50,
    children: [{ key: "train.py:9", name: "train.py:9 loss.backward()", about: "in main, train.py:9", quiet: false, samples: 40, children: [] }],
  },
};

test("a split says its shares in words, and its parts are as wide as their time", () => {
  act(() => render(<Split label="A step" parts={[{ name: "forward", seconds: 3 }, { name: "other", seconds: 1, rest: true }]} />, place));
  expect(place.querySelector("[role=img]")!.getAttribute("aria-label")).toBe("A step: forward 75 %, other 25 %");
  expect([...place.querySelectorAll<HTMLElement>(".time-part")].map((part) => part.style.flexGrow)).toEqual(["75", "25"]);
});

test("a split of nothing is not drawn", () => {
  act(() => render(<Split label="A step" parts={[{ name: "forward", seconds: 0 }]} />, place));
  expect(place.innerHTML).toBe("");
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

test("what memory is used for has its fullest moment marked and told", () => {
  const use = { device: "cuda:0", steps: [1, 3, 9], categories: { parameters: [1e9, 1e9, 1e9], activations: [1e9, 3e9, 2e9] }, peak: { step: 3, bytes: 4e9, text: "at most 4 GB on cuda:0 before the backward of step 3: activations 3 GB (net.stem 1 GB)" } };
  act(() => render(<MemoryUseArea use={use} />, place));
  expect(place.textContent).toContain("cuda:0: at most 4 GB on cuda:0 before the backward of step 3: activations 3 GB (net.stem 1 GB).");
  expect(place.querySelector(".time-marked")!.getAttribute("x1")).toBe("250.0");
  expect(place.textContent).toContain("activations 3 GB at its peak");
});

test("what is not recorded is said in one sentence, and nothing where all is there", () => {
  expect(untold(NOTHING)).toBe("Not recorded in this run: how a step divides into transfer, forward, backward and optimizer, the time of each module, the lines at which Python was and memory over time.");
  const parts = ["a", "b", "c"].map((name) => ({ name, seconds: 1 }));
  const memory = { steps: [], categories: {}, peak: {} };
  expect(untold({ ...NOTHING, split: parts, modules: MODEL, sampled: [SAMPLED] })).toBe("Not recorded in this run: memory over time.");
  expect(untold({ ...NOTHING, split: parts, modules: MODEL, sampled: [SAMPLED], memory })).toBe("");
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

test("sampled lines have their counts and shares, and few samples are said to be few", () => {
  act(() => render(<SampledLines sampled={[SAMPLED]} chosen={undefined} />, place));
  const words = [...place.querySelectorAll(".icicle-cell")].map((each) => each.getAttribute("aria-label"));
  expect(words[1]).toBe("train.py:9 loss.backward(): 40 samples, 80 % of training thread. in main, train.py:9");
  expect(place.textContent).toContain("only 50 samples yet");
  expect(place.querySelector("select")).toBeNull();
});

test("which thread is shown can be chosen where there are several", () => {
  const worker: Sampled = { ...SAMPLED, who: "worker 0", name: "worker 0", root: { ...SAMPLED.root, name: "worker 0", samples: 500 } };
  act(() => render(<SampledLines sampled={[SAMPLED, worker]} chosen="worker 0" />, place));
  expect([...place.querySelectorAll("option")].map((each) => each.textContent)).toEqual(["training thread", "worker 0"]);
  expect(place.querySelector("[role=group]")!.getAttribute("aria-label")).toBe("Where Python was: worker 0");
  expect(place.textContent).not.toContain("samples yet");
});
