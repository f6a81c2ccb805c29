import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { axisOf, varying } from "./axes";
import { Parallel } from "./Parallel";

const place = document.createElement("div");
document.body.append(place);
afterEach(() => render(null, place));
beforeAll(() => vi.stubGlobal("ResizeObserver", class { observe() {} disconnect() {} }));

test("numbers over powers of ten stand by their size, others by their difference", () => {
  const log = axisOf("lr", [0.001, 0.1, 10]);
  expect(log.name).toBe("lr (log)");
  expect([0.001, 0.1, 10].map((value) => log.place(value)!.toFixed(2))).toEqual(["0.00", "0.50", "1.00"]);
  expect(axisOf("width", [10, 20, 30]).place(20)).toBe(0.5);
  expect(axisOf("width", [7, 7]).place(7)).toBe(0.5);
});

test("what is not finite or not known is on no axis, and does not stretch it", () => {
  const axis = axisOf("loss", [1, 2, "nan", "inf", null]);
  expect([axis.place("nan"), axis.place(null), axis.place(2)]).toEqual([null, null, 1]);
});

test("words and switches have places of their own", () => {
  const axis = axisOf("amp", [true, false, "auto"]);
  expect(axis.ticks.map((tick) => tick.label)).toEqual(["auto", "false", "true"]);
  expect(axis.place(true)).toBe(1);
});

test("the same numbers are in a table, and a loss that is NaN has its own colour", () => {
  const runs = [
    { name: "a", title: "a", values: { lr: 0.1, loss: 1 } },
    { name: "b", title: "<b>", values: { lr: 0.2, loss: "nan" } },
  ];
  act(() => render(<Parallel axes={["lr", "loss"]} runs={runs} />, place));
  expect([...place.querySelectorAll("tbody tr")].map((row) => row.textContent)).toEqual(["a0.11", "<b>0.2NaN"]);
  const looks = [...place.querySelectorAll<SVGElement>(".parallel-line")].map((line) => line.getAttribute("style") ?? "");
  expect(looks[1]).toContain("--notfinite");
});

test("a line breaks where a run has no value, which is marked at the foot of that axis", () => {
  const runs = [
    { name: "a", title: "a", values: { lr: 0.1, width: null, loss: 1, depth: 2 }, colour: 1 },
    { name: "b", title: "b", values: { lr: 0.2, width: 32, loss: 2, depth: 3 } },
  ];
  act(() => render(<Parallel axes={["lr", "width", "loss", "depth"]} runs={runs} />, place));
  const [broken, whole] = [...place.querySelectorAll<SVGElement>(".parallel-line")];
  const joined = (line: Element) => [...line.querySelectorAll("polyline:not(.parallel-catch)")].map((each) => each.getAttribute("points")!.split(" ").length);
  expect([joined(broken!), joined(whole!)]).toEqual([[2], [4]]);
  expect([broken!.querySelectorAll(".parallel-missing").length, broken!.querySelectorAll(".parallel-alone").length]).toEqual([1, 1]);
  expect(broken!.getAttribute("style")).toContain("--chart-2");
  expect(axisOf("width", [null, 32]).foot).toBe("not known");
  expect([axisOf("loss", [1, "nan"]).foot, axisOf("loss", [1, 2]).foot]).toEqual(["not finite", null]);
});

test("an axis on which all runs stand at one place is left out", () => {
  const runs = [{ values: { lr: 0.1, seed: 0, width: null } }, { values: { lr: 0.2, seed: 0, width: 32 } }];
  expect(varying(["lr", "seed", "width"], runs)).toEqual(["lr"]);
});
