import { css, sequential } from "../../charts/heat_colours";
import { number } from "../../pieces/numbers";
import { lookInWords, spreadInWords, valueTicks, type DrawableSpread } from "./spread_words";

const WIDTH = 520;
const LEFT = 56;
const TALLEST = 46;
const BOTTOM = 22;

/** One hill a look, the first at the top: its height is the part of the values that lie there. */
export function Ridges({ spread }: { spread: DrawableSpread }) {
  const apart = spread.steps.length > 14 ? 14 : 22;
  const height = TALLEST + apart * (spread.steps.length - 1) + BOTTOM;
  const highest = Math.max(1e-9, ...spread.parts.flat());
  const base = (look: number) => TALLEST + look * apart;
  return (
    <svg class="layers-ridges" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={spreadInWords(spread)}>
      <text class="layers-ridge-step" x={LEFT - 8} y={12} text-anchor="end">
        step
      </text>
      {spread.steps.map((step, look) => (
        <g key={step}>
          <title>{lookInWords(spread, look)}</title>
          {spread.not_finite[look]! >= 0.999 ? (
            <text class="layers-ridge-odd" x={LEFT + 8} y={base(look)}>
              NaN or infinite
            </text>
          ) : (
            <path d={hill(spread.parts[look]!, base(look), highest)} fill={css(sequential(0.15 + (0.7 * look) / Math.max(1, spread.steps.length - 1)))} class="layers-ridge" />
          )}
          {look % Math.ceil(12 / apart) === 0 ? (
            <text class="layers-ridge-step" x={LEFT - 8} y={base(look)} text-anchor="end">
              {step.toLocaleString("en-US")}
            </text>
          ) : null}
        </g>
      ))}
      {valueTicks(spread.edges).map((tick) => (
        <text key={tick} class="layers-ridge-step" x={across(tick, spread.edges)} y={height - 6} text-anchor="middle">
          {number(tick)}
        </text>
      ))}
    </svg>
  );
}

function across(value: number, edges: readonly number[]): number {
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  return LEFT + ((value - low) / (high - low)) * (WIDTH - LEFT - 12);
}

function hill(parts: readonly number[], base: number, highest: number): string {
  const wide = (WIDTH - LEFT - 12) / parts.length;
  const tops = parts.map((part, bar) => `L${(LEFT + (bar + 0.5) * wide).toFixed(1)} ${(base - (part / highest) * (TALLEST - 4)).toFixed(1)}`);
  return `M${LEFT} ${base}${tops.join("")}L${WIDTH - 12} ${base}Z`;
}
