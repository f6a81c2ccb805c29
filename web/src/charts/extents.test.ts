import { expect, test } from "vitest";
import { padded } from "./extents";

test("what differs by rounding alone is drawn as a level line", () => {
  const [low, high] = padded(0.001, 0.0010000000475, false);

  expect(low).toBeCloseTo(0.00095, 8);
  expect(high).toBeCloseTo(0.00105, 8);
});

test("a small true difference fills the picture", () => {
  const [low, high] = padded(1, 1.001, false);

  expect(high - low).toBeLessThan(0.0012);
});
