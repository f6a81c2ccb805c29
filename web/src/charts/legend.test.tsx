import { render } from "preact";
import { expect, test } from "vitest";
import { Legend } from "./Legend";
import type { Line, Range } from "./lines";

function told(line: Partial<Line>, sight: Range | null, at: number | null = null): string {
  const place = document.createElement("div");
  const lines = [{ name: "loss", x: [0, 10, 20], y: [3, 2, 1], ...line }];
  render(<Legend {...{ lines, sight, at }} hidden={new Set()} x={{ name: "step", kind: "number" }} logY={false} onToggle={() => {}} onPoint={() => {}} />, place);
  return place.textContent ?? "";
}

test("the last value is that of what is in sight", () => {
  expect(told({}, null)).toBe("last1");
  expect(told({}, [-5, 12])).toBe("last in sight2");
  expect(told({}, [30, 40])).toBe("last in sightno point");
  expect(told({}, [-5, 12], 19)).toBe("step 201");
});

test("a line that ends with NaN says so, however smooth it is", () => {
  const raw = { x: [0, 10, 20, 30], y: [3, 2, 1, NaN] };
  expect(told({ raw }, null)).toBe("lastNaN1 NaN");
  expect(told({ raw }, [0, 20])).toBe("last in sight1 (raw 1)1 NaN in all");
});
