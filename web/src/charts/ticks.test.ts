import { expect, test } from "vitest";
import { clock, duration, shortNumber } from "./numbers";
import { compact, niceStep, ticksOf } from "./ticks";

const texts = (...of: Parameters<typeof ticksOf>) => ticksOf(...of).map((tick) => tick.text);

test("ticks are round numbers inside the range", () => {
  expect(texts("number", [0, 10], 5)).toEqual(["0", "2", "4", "6", "8", "10"]);
  expect(texts("number", [0.031, 0.049], 4)).toEqual(["0.035", "0.04", "0.045"]);
  expect(texts("number", [-1, 1], 4)).toEqual(["-1", "-0.5", "0", "0.5", "1"]);
});

test.each([1, 7, 1e-12, 3e17])("a range of the width %d has a bounded number of ticks", (width) => {
  for (const most of [1, 2, 5, 10]) {
    const made = ticksOf("number", [width, 2 * width], most);
    expect(made.length).toBeLessThanOrEqual(most + 1);
    for (const { at } of made) {
      expect(at).toBeGreaterThanOrEqual(width * (1 - 1e-6));
      expect(at).toBeLessThanOrEqual(2 * width * (1 + 1e-6));
    }
  }
});

test("neighbours that differ in a late digit are told apart", () => {
  const words = texts("number", [1000000, 1000010], 5);
  expect(new Set(words).size).toBe(words.length);
});

test("a log axis names its powers of ten", () => {
  expect(texts("number", [0.001, 10], 8, true).filter(Boolean)).toEqual(["0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10"]);
  expect(texts("number", [1e-30, 1], 5, true).filter(Boolean).length).toBeLessThanOrEqual(7);
});

test("an empty or broken range does not hang", () => {
  expect(ticksOf("number", [3, 3], 5)).toHaveLength(1);
  expect(ticksOf("number", [NaN, 3], 5)).toEqual([]);
  expect(ticksOf("number", [0, Infinity], 5).length).toBeLessThanOrEqual(1);
});

test("steps are 1, 2 or 5 times a power of ten", () => {
  expect([0.9, 1, 1.1, 3, 6, 70].map(niceStep)).toEqual([1, 1, 2, 5, 10, 100]);
});

test("time is told in its units", () => {
  expect(texts("duration", [0, 3600], 4)).toEqual(["0 s", "15 min", "30 min", "45 min", "1 h"]);
  expect([5, 75, 3600, 3599.9, 5400, 90000].map(duration)).toEqual(["5 s", "1 min 15 s", "1 h", "1 h", "1 h 30 min", "1 d 1 h"]);
  expect(clock(NaN)).toBe("no date");
});

test("numbers are short, and what is not finite has its name", () => {
  expect([0, 1234567, 0.123456789, 1e-7, NaN, -Infinity].map((each) => shortNumber(each))).toEqual(["0", "1,234,567", "0.12346", "1e-7", "NaN", "-Inf"]);
  expect([1500000, 20000, 9999].map((each) => compact(each))).toEqual(["1.5M", "20k", "9,999"]);
});

test("large numbers are powers of ten on the whole of an axis", () => {
  expect(texts("number", [0, 2e9], 4)).toEqual(["0", "5e8", "1e9", "1.5e9", "2e9"]);
  expect(texts("number", [0, 999e6], 5)).toEqual(["0", "200M", "400M", "600M", "800M"]);
  expect(texts("number", [0, 3e14], 3)).toEqual(["0", "1e14", "2e14", "3e14"]);
  expect(texts("number", [1, 1e12], 4, true).filter(Boolean)).toEqual(["1", "1,000", "1e6", "1e9", "1e12"]);
});

test("a small chart has two numbers at least, on either scale", () => {
  for (const [low, high, log] of [[49.7, 50.4, false], [0.9, 1.1, false], [0.08, 0.6, true], [0.002, 0.011, true], [125.5, 125.7, false]] as const)
    expect(ticksOf("number", [low, high], 1, log).filter((tick) => tick.text).length).toBeGreaterThanOrEqual(2);
});
