import { kindOf, KIND_NAMES } from "./notfinite";

const formats = new Map<number, Intl.NumberFormat>();

/** Kept, because making one takes longer than drawing a line. */
function format(digits: number): Intl.NumberFormat {
  const known = formats.get(digits) ?? new Intl.NumberFormat("en", digits ? { maximumSignificantDigits: digits } : { maximumFractionDigits: 0 });
  formats.set(digits, known);
  return known;
}

/** 12,345 */
export function wholeNumber(value: number): string {
  return format(0).format(value);
}

/** A number as one reads it beside a chart: five digits that count, and NaN and Inf by their names. */
export function shortNumber(value: number | null | undefined, digits = 5): string {
  if (value === null || value === undefined) return "none";
  const kind = kindOf(value);
  if (kind) return KIND_NAMES[kind];
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return exponential(value, digits);
  return Number.isInteger(value) ? wholeNumber(value) : format(digits).format(value);
}

/** 1.5e14 */
export function exponential(value: number, digits: number): string {
  return value.toExponential(Math.max(0, digits - 2)).replace(/(\.\d*?)0+e/, "$1e").replace(".e", "e").replace("e+", "e");
}

/** 75 -> 1 min 15 s */
export function duration(seconds: number): string {
  const size = Math.abs(seconds) < 60 ? Math.abs(seconds) : Math.round(Math.abs(seconds));
  const sign = seconds < 0 ? "-" : "";
  if (size < 60) return `${sign}${shortNumber(size, 3)} s`;
  const [big, small, bigName, smallName] =
    size < 3600 ? [60, 1, "min", "s"] : size < 86400 ? [3600, 60, "h", "min"] : [86400, 3600, "d", "h"];
  const parts = Math.round(size / small) * small;
  const rest = Math.round((parts % big) / small);
  return `${sign}${Math.floor(parts / big)} ${bigName}${rest ? ` ${rest} ${smallName}` : ""}`;
}

/** A moment in the reader's own time zone. */
export function clock(seconds: number, within = 0): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "no date";
  const pad = (number: number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  if (within >= 86400) return day;
  if (within >= 60) return time;
  return within > 0 ? `${time}:${pad(date.getSeconds())}` : `${day} ${time}:${pad(date.getSeconds())}`;
}
