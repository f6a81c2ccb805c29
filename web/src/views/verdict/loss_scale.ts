// Where the points of the loss stand in its small picture, as shares of its width and height.
import { toNumber } from "../../answers";
import type { LossCurve } from "./answers";

export interface Scale {
  x: (step: number) => number;
  y: (value: number) => number;
  low: number;
  high: number;
  logarithmic: boolean;
}

const WIDE = 50; // from this ratio on a logarithmic axis tells more

export function scaleOf(loss: LossCurve): Scale {
  const finite = loss.values.map(toNumber).filter(Number.isFinite);
  const low = finite.length ? finite.reduce((a, b) => Math.min(a, b)) : 0;
  const high = finite.length ? finite.reduce((a, b) => Math.max(a, b)) : 1;
  const logarithmic = low > 0 && high / low >= WIDE;
  const bent = logarithmic ? Math.log : (value: number) => value;
  const first = loss.steps.reduce((a, b) => Math.min(a, b), loss.steps[0] ?? 0);
  const last = loss.steps.reduce((a, b) => Math.max(a, b), first);
  return {
    x: (step) => share(step, first, last),
    y: (value) => 1 - share(bent(value), bent(low), bent(high)),
    low,
    high,
    logarithmic,
  };
}

/** The lines between points that follow each other and are finite, as an SVG path. */
export function pathOf(loss: LossCurve, scale: Scale, width: number, height: number): string {
  let open = false;
  const parts = loss.values.map((each, place) => {
    const value = toNumber(each);
    if (!Number.isFinite(value)) {
      open = false;
      return "";
    }
    const move = open ? "L" : "M";
    open = true;
    return `${move}${round(scale.x(loss.steps[place] ?? 0) * width)} ${round(scale.y(value) * height)}`;
  });
  return parts.join("");
}

export function oddPoints(loss: LossCurve): { step: number; value: number }[] {
  return loss.values.map((each, place) => ({ step: loss.steps[place] ?? 0, value: toNumber(each) })).filter(({ value }) => !Number.isFinite(value));
}

function share(value: number, low: number, high: number): number {
  return high > low ? Math.min(Math.max((value - low) / (high - low), 0), 1) : 0.5;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
