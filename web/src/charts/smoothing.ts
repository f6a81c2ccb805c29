import type { Points } from "./lines";

const STEPS_IN_SIGHT = 1000; // a weight is that of a curve with this many points across the picture
const LEAST = 1e-12; // of a point that stands for no stretch of x: the second one at a step

/** A moving average that forgets exponentially with the distance in x, so that points that are close together do not
 *  count more than their stretch of the axis; with the bias of its start taken out. What is not finite is passed over.
 *  `span` is the width of x that is in sight, so that the same weight looks alike on every scale. */
export function smooth({ x, y }: Points, weight: number, span: number, log = false): { x: number[]; y: number[] } {
  const places = finitePlaces(y);
  const at = places.map((place) => (log ? Math.log10(Math.max(x[place]!, Number.MIN_VALUE)) : x[place]!));
  const kept = Math.min(Math.sqrt(Math.max(0, weight)), 0.9999);
  const left = at.map((here, index) => kept ** stepsBetween(at[Math.max(0, index - 1)]!, here, span));
  let sum = 0;
  let norm = 0;
  const smoothed = places.map((place, index) => {
    const stands = Math.max(LEAST, 1 - (index === 0 ? (left[1] ?? 0) : left[index]!));
    sum = sum * left[index]! + y[place]! * stands;
    norm = norm * left[index]! + stands;
    return sum / norm;
  });
  return { x: places.map((place) => x[place]!), y: smoothed };
}

function stepsBetween(before: number, here: number, span: number): number {
  return span > 0 ? (Math.max(0, here - before) / span) * STEPS_IN_SIGHT : 1;
}

function finitePlaces(y: ArrayLike<number>): number[] {
  const places: number[] = [];
  for (let place = 0; place < y.length; place++) if (Number.isFinite(y[place]!)) places.push(place);
  return places;
}
