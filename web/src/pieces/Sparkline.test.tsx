import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { drawn, Sparkline } from "./Sparkline";

test("what is not finite breaks the line and is marked", () => {
  const { lines, marks } = drawn([0, 1, 2, 3], [1, NaN, 3, 2]);
  expect(lines).toHaveLength(2);
  expect(marks).toHaveLength(1);
});

test("a curve of one point, of one value or of nothing is drawn without NaN in it", () => {
  for (const values of [[5], [2, 2, 2], [NaN, NaN]]) expect(JSON.stringify(drawn(values.map((_, place) => place), values))).not.toContain("NaN");
  expect(drawn([], [])).toEqual({ lines: [], marks: [] });
});

test("it says in words what it shows", () => {
  const place = document.createElement("div");
  act(() => render(<Sparkline what="Loss of a" curve={{ steps: [1, 2, 3], values: [2, "nan", 0.5] }} />, place));
  expect(place.querySelector("svg")!.getAttribute("aria-label")).toBe("Loss of a: from 2 to 0.5, 1 of 3 points not finite");
});
