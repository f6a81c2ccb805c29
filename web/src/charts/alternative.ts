// A chart in words, for those who do not see it.
import { pointsIn } from "./in_sight";
import type { Line, Range } from "./lines";
import { shortNumber } from "./numbers";
import { countsInWords, countsOf, measured } from "./notfinite";

const MOST_LINES = 8;

/** Of what is in sight; null: of all there is. */
export function chartInWords(label: string, xName: string, lines: Line[], sight: Range | null): string {
  const told = lines.slice(0, MOST_LINES).map((line) => lineInWords(line, xName, lines.length > 1, sight));
  const more = lines.length > MOST_LINES ? [`And ${lines.length - MOST_LINES} more lines.`] : [];
  return [`${label}, by ${xName}.`, ...(lines.length ? told : ["No points."]), ...more].join(" ");
}

function lineInWords(line: Line, xName: string, named: boolean, sight: Range | null): string {
  const { x, y } = pointsIn(measured(line), sight);
  const name = named ? `${line.name}: ` : "";
  if (!x.length) return `${name}${sight ? "No points in sight." : "No points."}`;
  const [low, high] = finiteEnds(y);
  const odd = countsInWords(countsOf(line), sight !== null);
  const from = `${name}First ${shortNumber(y[0])} at ${xName} ${shortNumber(x[0])}, last ${shortNumber(y[y.length - 1])} at ${xName} ${shortNumber(x[x.length - 1])}`;
  const ends = low <= high ? `, least ${shortNumber(low)}, most ${shortNumber(high)}` : ", no finite value";
  return `${from}${ends}${odd ? `, ${odd}` : ", no NaN"}.`;
}

function finiteEnds(y: ArrayLike<number>): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (let place = 0; place < y.length; place++) {
    const value = y[place]!;
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
