import { useId } from "preact/hooks";
import "./pieces.css";

interface Props {
  label: string;
  /** What can be chosen, in order: the steps of a run at which there is something. */
  stops: readonly number[];
  value: number;
  onChange: (stop: number) => void;
  /** What a stop is called: `step 120`. */
  say?: (stop: number) => string;
}

/** A slider over the steps there are, with the chosen one in words. */
export function Slider({ label, stops, value, onChange, say = sayStep }: Props) {
  const id = useId();
  const place = nearestPlace(stops, value);
  const chosen = stops[place];
  return (
    <div class="slider">
      <label class="field-label" for={id}>
        {label}
      </label>
      <input
        id={id}
        type="range"
        min={0}
        max={Math.max(stops.length - 1, 0)}
        value={place}
        disabled={stops.length < 2}
        aria-valuetext={chosen === undefined ? "nothing to choose" : say(chosen)}
        onInput={(event) => onChange(stops[Number(event.currentTarget.value)] ?? value)}
      />
      <output for={id}>{chosen === undefined ? "nothing to choose" : say(chosen)}</output>
    </div>
  );
}

/** The place of the stop that is nearest; of two as near, the earlier one. */
export function nearestPlace(stops: readonly number[], value: number): number {
  let best = 0;
  stops.forEach((stop, place) => {
    if (Math.abs(stop - value) < Math.abs((stops[best] ?? Infinity) - value)) best = place;
  });
  return best;
}

function sayStep(step: number): string {
  return `step ${step.toLocaleString("en-US")}`;
}
