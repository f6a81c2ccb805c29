import { bytes, number } from "../../pieces/numbers";
import { colourOf } from "./Split";
import type { Memory, MemoryUse } from "./timing";

const WIDTH = 1000;
const HEIGHT = 200;

/** What one device's memory was used for, with its fullest moment marked and told in words. */
export function MemoryUseArea({ use }: { use: MemoryUse }) {
  const peak = Object.fromEntries(Object.entries(use.categories).map(([name, sizes]) => [name, Math.max(...sizes)]));
  return (
    <>
      <p class="time-peak">
        <b>{use.device}</b>: {use.peak.text}.
      </p>
      <MemoryArea memory={{ steps: use.steps, categories: use.categories, peak }} marked={use.peak.step} />
    </>
  );
}

/** Memory by category, one upon the other, over the steps; a line at the step that is marked. */
export function MemoryArea({ memory, marked }: { memory: Memory; marked?: number }) {
  const names = Object.keys(memory.categories);
  const layers = stacked(names.map((name) => memory.categories[name] ?? []));
  const most = Math.max(1, ...(layers[layers.length - 1]?.upper ?? []));
  const { steps } = memory;
  const moment = (value: number | undefined) => (memory.unit ? `${number(value ?? null, 4)} ${memory.unit}` : `step ${value}`);
  return (
    <div class="time-memory">
      <div class="time-most quiet">{bytes(most)}</div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Memory from ${moment(steps[0])} to ${memory.unit ? moment(steps[steps.length - 1]) : steps[steps.length - 1]}: ${names.map((name) => `${name} at most ${bytes(Math.max(...(memory.categories[name] ?? [0])))}`).join(", ")}.`}>
        {layers.map((layer, place) => (
          <path key={names[place]} d={areaOf(layer, steps, most)} style={{ fill: colourOf(place) }} />
        ))}
        {marked !== undefined ? <line class="time-marked" x1={acrossOf(marked, steps)} x2={acrossOf(marked, steps)} y1={0} y2={HEIGHT} /> : null}
      </svg>
      <div class="time-ends quiet">
        <span>{moment(steps[0])}</span>
        <span>{moment(steps[steps.length - 1])}</span>
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
  const point = (value: number, place: number) => `${acrossOf(steps[place]!, steps)} ${(HEIGHT - (value / most) * HEIGHT).toFixed(1)}`;
  const there = upper.map(point);
  const back = lower.map(point).reverse();
  return `M${[...there, ...back].join("L")}Z`;
}

/** How far to the right a step stands. */
function acrossOf(step: number, steps: readonly number[]): string {
  const first = steps[0] ?? 0;
  const span = (steps[steps.length - 1] ?? 0) - first || 1;
  return (((step - first) / span) * WIDTH).toFixed(1);
}
