// What a parallel plot is drawn of: a line for each run, and the axes over them.
import { dashOf, paletteName } from "../charts/palette";
import { stretches, type Axis } from "./axes";
import type { ParallelRun } from "./Parallel";

export const HEIGHT = 260;
const TOP = 34;
const BOTTOM = 32;
const FOOT = HEIGHT - 10; // where runs stand that have no place on an axis
const LETTER = 7; // px, of the labels at 12 px: wide enough for most

interface LineProps {
  run: ParallelRun;
  axes: readonly string[];
  scales: readonly Axis[];
  x: (place: number) => number;
  pointed: boolean;
  onPoint: () => void;
}

/** Through the run's values; broken where one is missing, which is a ring at the foot of that axis. */
export function RunLine({ run, axes, scales, x, pointed, onPoint }: LineProps) {
  const places = axes.map((name, place) => scales[place]?.place(run.values[name]) ?? null);
  const known = stretches(places.map((place, which) => (place === null ? null : ([x(which), y(place)] as const))));
  const colour = colourOf(run, places[places.length - 1] ?? null);
  return (
    <g class={pointed ? "parallel-line parallel-pointed" : "parallel-line"} style={{ color: colour, strokeDasharray: dashOf(run.colour ?? 0).join(" ") }} onMouseEnter={onPoint}>
      {known.map((stretch, which) =>
        stretch.length === 1 ? <circle key={which} cx={stretch[0]![0]} cy={stretch[0]![1]} r={3} class="parallel-alone" /> : <polyline key={which} points={stretch.join(" ")} />,
      )}
      {places.map((place, which) => (place === null ? <circle key={`foot ${which}`} cx={x(which)} cy={FOOT} r={3.5} class="parallel-missing" /> : null))}
      {known.map((stretch, which) => (
        <polyline key={`catch ${which}`} class="parallel-catch" points={stretch.join(" ")} />
      ))}
    </g>
  );
}

function colourOf(run: ParallelRun, last: number | null): string {
  if (run.colour !== undefined) return `var(${paletteName(run.colour)})`;
  return last === null ? "var(--notfinite)" : `color-mix(in oklab, var(--warning) ${Math.round(last * 100)}%, var(--accent))`;
}

export function AxisMark({ axis, x, side }: { axis: Axis; x: number; side: "start" | "middle" | "end" }) {
  return (
    <g class="parallel-axis">
      <line x1={x} x2={x} y1={TOP} y2={HEIGHT - BOTTOM} />
      <text x={side === "middle" ? x : side === "start" ? 4 : x + 46} y={14} text-anchor={side} class="parallel-name">
        <title>{axis.name}</title>
        {cut(axis.name, 18)}
      </text>
      {axis.ticks.map(({ place, label }) => (
        <Label key={label} text={cut(label, 12)} x={x} y={y(place)} end={side === "end"} />
      ))}
      {axis.foot ? <Label text={axis.foot} x={x} y={FOOT} end={side === "end"} /> : null}
    </g>
  );
}

/** Beside its axis, inwards, on a ground of its own: lines pass behind it. */
function Label({ text, x, y, end }: { text: string; x: number; y: number; end: boolean }) {
  const width = text.length * LETTER + 4;
  return (
    <>
      <rect x={end ? x - 6 - width : x + 6} y={y - 8} width={width} height={16} rx={3} />
      <text x={end ? x - 8 : x + 8} y={y + 4} text-anchor={end ? "end" : "start"}>
        {text}
      </text>
    </>
  );
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function y(place: number): number {
  return HEIGHT - BOTTOM - place * (HEIGHT - BOTTOM - TOP);
}
