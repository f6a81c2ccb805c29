import { expect, test } from "vitest";
import { smooth } from "./smoothing";

const range = (count: number) => Array.from({ length: count }, (_, place) => place);

test("a constant stays what it is, from its first point on", () => {
  const x = range(50);
  expect(smooth({ x, y: x.map(() => 3) }, 0.9, 50).y.every((each) => Math.abs(each - 3) < 1e-12)).toBe(true);
});

test("NaN and Inf do not poison what follows", () => {
  const x = range(6);
  const made = smooth({ x, y: [1, NaN, 1, Infinity, 1, -Infinity] }, 0.9, 6);
  expect(made.x).toEqual([0, 2, 4]);
  for (const each of made.y) expect(each).toBeCloseTo(1);
});

test("more weight is smoother, none leaves the points", () => {
  const x = range(1000);
  const y = x.map((each) => (each % 2 ? 1 : -1));
  const roughness = (weight: number) => smooth({ x, y }, weight, 1000).y.slice(100).reduce((sum, each) => sum + Math.abs(each), 0);
  expect(smooth({ x, y }, 0, 1000).y).toEqual(y);
  expect(roughness(0.99)).toBeLessThan(roughness(0.6));
  expect(roughness(0.6)).toBeLessThan(roughness(0.1));
});

test("it does not matter how densely a curve was sampled", () => {
  const curve = (count: number) => {
    const x = range(count).map((each) => (each / count) * 1000);
    return smooth({ x, y: x.map((each) => Math.sin(each / 100)) }, 0.95, 1000).y.at(-1)!;
  };
  expect(curve(10000)).toBeCloseTo(curve(2000), 1);
});

test("many points at one x do not divide by zero", () => {
  const made = smooth({ x: [0, 0, 0, 1], y: [1, 2, 3, 4] }, 0.9, 1);
  expect(made.y.every(Number.isFinite)).toBe(true);
  expect(smooth({ x: [5], y: [7] }, 0.9, 0).y).toEqual([7]);
});
