import { bytes } from "../../pieces/numbers";
import { colourOf } from "./Split";
import type { Memory } from "./timing";

const WIDTH = 1000;
const HEIGHT = 200;

/** Memory by category, one upon the other, over the steps. */
export function MemoryArea({ memory }: { memory: Memory }) {
  const names = Object.keys(memory.categories);
  const layers = stacked(names.map((name) => memory.categories[name] ?? []));
  const most = Math.max(1, ...(layers[layers.length - 1]?.upper ?? []));
  const { steps } = memory;
  return (
    <div class="time-memory">
      <div class="time-most quiet">{bytes(most)}</div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Memory from step ${steps[0]} to ${steps[steps.length - 1]}: ${names.map((name) => `${name} at most ${bytes(Math.max(...(memory.categories[name] ?? [0])))}`).join(", ")}.`}>
        {layers.map((layer, place) => (
          <path key={names[place]} d={areaOf(layer, steps, most)} style={{ fill: colourOf(place) }} />
        ))}
      </svg>
      <div class="time-ends quiet">
        <span>step {steps[0]}</span>
        <span>step {steps[steps.length - 1]}</span>
      </div>
      <ul class="time-legend">
        {names.map((name, place) => (
          <li key={name}>
            <span class="time-swatch" style={{ background: colourOf(place) }} aria-hidden="true" /> {name} <b>{bytes(memory.peak[name] ?? null)}</b> <span class="quiet">at its peak</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export interface Layer {
  lower: number[];
  upper: number[];
}

export function stacked(series: readonly (readonly number[])[]): Layer[] {
  let below = (series[0] ?? []).map(() => 0);
  return series.map((values) => {
    const layer = { lower: below, upper: below.map((start, place) => start + (values[place] ?? 0)) };
    below = layer.upper;
    return layer;
  });
}

function areaOf({ lower, upper }: Layer, steps: readonly number[], most: number): string {
  const first = steps[0] ?? 0;
  const span = (steps[steps.length - 1] ?? 0) - first || 1;
  const point = (value: number, place: number) => `${(((steps[place]! - first) / span) * WIDTH).toFixed(1)} ${(HEIGHT - (value / most) * HEIGHT).toFixed(1)}`;
  const there = upper.map(point);
  const back = lower.map(point).reverse();
  return `M${[...there, ...back].join("L")}Z`;
}
