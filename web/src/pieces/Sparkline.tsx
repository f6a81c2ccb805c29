import { toNumber, type Num } from "../answers";
import { number } from "./numbers";
import "./pieces.css";

export interface SmallCurve {
  steps: readonly number[];
  values: readonly Num[];
}

const WIDTH = 96;
const HEIGHT = 24;

/** A curve as small as a word: how it went, and where it was not finite. */
export function Sparkline({ curve, what }: { curve: SmallCurve; what: string }) {
  const values = curve.values.map(toNumber);
  const { lines, marks } = drawn(curve.steps, values);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={inWords(curve, what)}>
      {lines.map((points) => (
        <polyline key={points} points={points} />
      ))}
      {marks.map((x) => (
        <path key={x} d={`M${x - 2.5} ${HEIGHT - 6}l5 5m0 -5l-5 5`} class="sparkline-odd" />
      ))}
    </svg>
  );
}

/** The finite stretches as points of lines, and the places of what is not finite. */
export function drawn(steps: readonly number[], values: readonly number[]): { lines: string[]; marks: number[] } {
  const finite = values.filter(Number.isFinite);
  const low = Math.min(...finite);
  const tall = Math.max(...finite) - low || 1;
  const first = steps[0] ?? 0;
  const wide = (steps[steps.length - 1] ?? 0) - first || 1;
  const across = (place: number) => round(2 + ((steps[place]! - first) / wide) * (WIDTH - 4));
  const stretches: string[][] = [[]];
  const marks: number[] = [];
  values.forEach((value, place) => {
    if (Number.isFinite(value)) stretches[stretches.length - 1]!.push(`${across(place)},${round(HEIGHT - 3 - ((value - low) / tall) * (HEIGHT - 6))}`);
    else {
      stretches.push([]);
      marks.push(across(place));
    }
  });
  return { lines: stretches.filter((each) => each.length).map((each) => each.join(" ")), marks };
}

function inWords({ values }: SmallCurve, what: string): string {
  const odd = values.filter((value) => !Number.isFinite(toNumber(value))).length;
  const ends = `${what}: from ${number(values[0])} to ${number(values[values.length - 1])}`;
  return odd ? `${ends}, ${odd} of ${values.length} points not finite` : ends;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
