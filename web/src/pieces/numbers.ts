// Numbers as words: the same everywhere on the page.
import { toNumber, type Num } from "../answers";

/** What a number that is none is called; null for a plain one. */
export function oddWord(value: Num | undefined): string | null {
  if (value === null || value === undefined) return "not measured";
  const number = toNumber(value);
  if (Number.isNaN(number)) return "NaN";
  if (number === Infinity) return "+Inf";
  return number === -Infinity ? "-Inf" : null;
}

/** Four significant digits: 3.142, 120, 1,204,000, 1.2e-7, NaN, +Inf. */
export function number(value: Num | undefined, digits = 4): string {
  const odd = oddWord(value);
  if (odd !== null) return odd;
  const plain = toNumber(value);
  if (Number.isInteger(plain) && Math.abs(plain) < 1e12) return plain.toLocaleString("en-US");
  const size = Math.abs(plain);
  if (size < 1e-4 || size >= 1e6) return trimmed(plain.toExponential(digits - 1)).replace("e+", "e");
  if (size >= 10 ** digits) return Math.round(plain).toLocaleString("en-US");
  return trimmed(plain.toPrecision(digits));
}

const PREFIXES: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** Short, for counts: 950, 12.3k, 4.5M. */
export function si(value: Num | undefined, unit = ""): string {
  const odd = oddWord(value);
  if (odd !== null) return odd;
  const plain = toNumber(value);
  const [size, prefix] = PREFIXES.find(([least]) => Math.abs(plain) >= least * 0.99995) ?? [1, ""];
  return `${number(Number((plain / size).toPrecision(3)))}${prefix}${unit ? ` ${unit}` : ""}`;
}

/** 1 step, 1,204 steps. */
export function count(many: number, one: string, several = `${one}s`): string {
  return `${many.toLocaleString("en-US")} ${many === 1 ? one : several}`;
}

/** 12 µs, 3.4 ms, 12.3 s, 4 min 10 s, 2 h 5 min, 3 d 4 h. */
export function duration(seconds: Num | undefined): string {
  const odd = oddWord(seconds);
  if (odd !== null) return odd;
  const s = toNumber(seconds);
  if (s < 0) return `-${duration(-s)}`;
  if (s > 0 && s < 0.9995e-3) return `${number(s * 1e6, 3)} µs`;
  if (s > 0 && s < 0.9995) return `${number(s * 1e3, 3)} ms`;
  if (s < 59.95) return `${number(s, 3)} s`;
  const whole = Math.round(s);
  if (whole < 3600) return pair(whole, 60, "min", 1, "s");
  if (whole < 86400) return pair(whole, 3600, "h", 60, "min");
  return pair(whole, 86400, "d", 3600, "h");
}

/** 999 B, 1.5 kB, 256 MB: powers of 1000, as in the reports. */
export function bytes(size: Num | undefined): string {
  const odd = oddWord(size);
  if (odd !== null) return odd;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let left = toNumber(size);
  let unit = 0;
  while (Math.abs(left) >= 999.5 && unit < units.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${number(Number(left.toPrecision(3)))} ${units[unit]}`;
}

/** 0.97 is 97 %. */
export function percent(share: Num | undefined): string {
  const odd = oddWord(share);
  return odd ?? `${number(Number((toNumber(share) * 100).toPrecision(3)))} %`;
}

/** What a program calls grad_norm_first, as a person would: grad norm first. */
export function readable(name: string): string {
  return name.replaceAll("_", " ");
}

function pair(whole: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const more = Math.floor((whole % large) / small);
  return `${Math.floor(whole / large)} ${largeUnit}${more ? ` ${more} ${smallUnit}` : ""}`;
}

function trimmed(text: string): string {
  const [digits = "", power] = text.split("e");
  const short = digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
  return power === undefined ? short : `${short}e${power}`;
}
