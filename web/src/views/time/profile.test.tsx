import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, test } from "vitest";
import { MemoryArea } from "./MemoryArea";
import { ProfileTables } from "./ProfileTables";

const place = document.createElement("div");
document.body.append(place);
afterEach(() => render(null, place));

test("a profile is two tables, the dearest first, with what was profiled above the first", () => {
  const lines = [{ name: "train.py:9", beside: "loss.backward()", seconds: 0.002, share: 0.5 }];
  const ops = [{ name: "aten::mm", beside: "3 calls a step", seconds: 0.001, share: 0.25 }];
  act(() => render(<ProfileTables profile={{ told: "3 steps were profiled.", lines, ops }} />, place));
  expect([...place.querySelectorAll("caption")].map((each) => each.textContent)).toEqual(["Time by line", "Time by op"]);
  expect(place.querySelector("tbody")!.textContent).toBe("train.py:92 ms50 %loss.backward()");
  expect(place.textContent!.split("3 steps were profiled.").length).toBe(2);
});

test("a profile without lines says what was profiled above its ops", () => {
  act(() => render(<ProfileTables profile={{ told: "3 steps were profiled.", lines: [], ops: [{ name: "aten::mm", beside: "", seconds: 1, share: 1 }] }} />, place));
  expect(place.querySelectorAll("table").length).toBe(1);
  expect(place.textContent).toContain("3 steps were profiled.");
});

test("memory of a trace goes over milliseconds", () => {
  act(() => render(<MemoryArea memory={{ steps: [0, 12.5], unit: "ms", categories: { "given out on cpu": [1, 4] }, peak: { "given out on cpu": 4 } }} />, place));
  expect(place.querySelector("svg")!.getAttribute("aria-label")).toBe("Memory from 0 ms to 12.5 ms: given out on cpu at most 4 B.");
  expect(place.querySelector(".time-ends")!.textContent).toBe("0 ms12.5 ms");
});
