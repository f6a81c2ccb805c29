import { expect, test } from "vitest";
import { bytes, count, duration, number, percent, readable, si } from "./numbers";

test("a number has four significant digits and says what is no number", () => {
  expect([3.14159265, 120, 1204000, 1.23456e-7, 12345.678, 2.5e8, 0].map((each) => number(each))).toEqual([
    "3.142", "120", "1,204,000", "1.235e-7", "12,346", "250,000,000", "0",
  ]);
  expect(number(0.5)).toBe("0.5");
  expect([number("nan"), number("inf"), number("-inf"), number(null)]).toEqual(["NaN", "+Inf", "-Inf", "not measured"]);
});

test("short counts carry over to the next prefix", () => {
  expect([950, 12_345, 999_999, 4.5e6, 7e9].map((each) => si(each))).toEqual(["950", "12.3k", "1M", "4.5M", "7G"]);
  expect(si(2.2e12, "FLOP")).toBe("2.2T FLOP");
});

test("durations name two units at most", () => {
  const said = [0, 12e-6, 0.0034, 12.34, 59.97, 250, 7500, 90_000, 3600].map((each) => duration(each));
  expect(said).toEqual(["0 s", "12 µs", "3.4 ms", "12.3 s", "1 min", "4 min 10 s", "2 h 5 min", "1 d 1 h", "1 h"]);
  expect(duration(null)).toBe("not measured");
});

test("sizes, shares, counts and names", () => {
  expect([bytes(512), bytes(1500), bytes(999_600), bytes(2.25e9)]).toEqual(["512 B", "1.5 kB", "1 MB", "2.25 GB"]);
  expect([percent(0.971), percent(1), percent("nan")]).toEqual(["97.1 %", "100 %", "NaN"]);
  expect([count(1, "step"), count(1204, "step"), count(0, "entry", "entries")]).toEqual(["1 step", "1,204 steps", "0 entries"]);
  expect(readable("grad_norm_first")).toBe("grad norm first");
});
