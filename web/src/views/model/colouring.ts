// Numbers as the colours of the heat maps; NaN and Inf have one of their own.
import { toNumber, type Num } from "../../answers";
import { css, diverging, sequential } from "../../charts/heat_colours";


export interface Scale {
  low: number;
  high: number;
  kind: "log" | "linear" | "signed";
}

export interface Colour {
  fill: string;
  ink: string;
  /** NaN or an infinity. */
  odd: boolean;
}

/** Over all values there are, so that a colour means the same at every step; the outermost 2 % do not count. */
export function scaleOf(values: readonly Num[]): Scale | null {
  const known = values.filter((value) => value !== null).map(toNumber).filter(Number.isFinite).sort((a, b) => a - b);
  if (!known.length) return null;
  const at = (share: number) => known[Math.round(share * (known.length - 1))] ?? 0;
  const low = at(0.02);
  const high = at(0.98);
  if (low < 0) {
    const most = Math.max(-low, Math.abs(high));
    return { low: -most, high: most, kind: "signed" };
  }
  const least = known.find((value) => value > 0);
  if (least !== undefined && high / Math.max(low, least) > 50) return { low: Math.max(low, least), high, kind: "log" };
  return { low, high, kind: "linear" };
}

/** From 0 to 1; what lies outside of the scale is at its end. */
export function place(scale: Scale, value: number): number {
  if (scale.high <= scale.low) return 0.5;
  const share =
    scale.kind === "log"
      ? Math.log(Math.max(value, scale.low) / scale.low) / Math.log(scale.high / scale.low)
      : (value - scale.low) / (scale.high - scale.low);
  return Math.min(1, Math.max(0, share));
}

/** Null for what was not measured. */
export function colourOf(scale: Scale | null, value: Num | undefined): Colour | null {
  if (value === null || value === undefined) return null;
  const number = toNumber(value);
  if (!Number.isFinite(number)) return { fill: "var(--notfinite)", ink: "var(--ground)", odd: true };
  return scale ? rampColour(scale.kind, place(scale, number)) : null;
}

export function rampColour(kind: Scale["kind"], share: number): Colour {
  const colour = kind === "signed" ? diverging(2 * share - 1, false) : sequential(share);
  return { fill: css(colour), ink: luminance(colour) > 0.179 ? "#000000" : "#ffffff", odd: false };
}

/** As WCAG has it: black and white text are as easy to read on 0.179. */
export function luminance(colour: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
