// Numbers as colours: viridis for sizes, blue to orange for what has a sign; NaN and Inf have a colour of their own.
import { toNumber, type Num } from "../../answers";

type Rgb = [number, number, number];
const SIZES: Rgb[] = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const SIGNED: Rgb[] = [[33, 102, 172], [146, 197, 222], [240, 240, 240], [253, 184, 99], [179, 88, 6]];

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
  const ramp = kind === "signed" ? SIGNED : SIZES;
  const at = Math.min(share * (ramp.length - 1), ramp.length - 1.0001);
  const [one, other] = [ramp[Math.floor(at)], ramp[Math.floor(at) + 1]] as [Rgb, Rgb];
  const mixed = one.map((part, which) => Math.round(part + (other[which as 0] - part) * (at % 1))) as Rgb;
  return { fill: `rgb(${mixed.join(" ")})`, ink: luminance(mixed) > 0.179 ? "#000000" : "#ffffff", odd: false };
}

/** As WCAG has it: black and white text are as easy to read on 0.179. */
export function luminance(colour: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
