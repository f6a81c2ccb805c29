import { useAnswer } from "../../answer_hooks";
import { count, number, percent } from "../../pieces/numbers";
import { Problem, Waiting } from "../../states";
import { PixelCanvas } from "../../pieces/PixelCanvas";
import { heat } from "../data/colours";
import type { Heat } from "./answers";

/** The histograms of a tag over the steps: a column each, brighter where more of the values lie. */
export function HistogramHeat({ run, tag, version }: { run: string; tag: string; version: string }) {
  const { answer, error } = useAnswer<Heat>("media", { run, kind: "histograms", tag }, version);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the histograms" />;
  if (answer.steps.length === 0) return <p class="pictures-problem">What was logged here is damaged and cannot be read.</p>;
  const [low, high] = [answer.edges[0] ?? 0, answer.edges[answer.edges.length - 1] ?? 1];
  const [first, last] = [answer.steps[0] ?? 0, answer.steps[answer.steps.length - 1] ?? 0];
  return (
    <div class="pictures-heat">
      <div class="pictures-heat-high">{number(high)}</div>
      <PixelCanvas
        class="pictures-heat-map"
        width={answer.steps.length}
        height={answer.edges.length - 1}
        label={`Values from ${number(low)} to ${number(high)}, steps ${number(first)} to ${number(last)}; the fullest row has ${percent(fullest(answer))} of a step's values`}
        draw={() => drawn(answer)}
      />
      <div class="pictures-heat-low">{number(low)}</div>
      <div class="pictures-heat-steps">
        <span>step {number(first)}</span>
        <span>step {number(last)}</span>
      </div>
      <p class="pictures-steps">
        {count(answer.all_steps, "step")}, {number(answer.counts[answer.counts.length - 1])} values at the last
      </p>
    </div>
  );
}

function fullest({ shares }: Heat): number {
  return Math.max(...shares.flat(), 0);
}

/** The highest values on top; each step on its own scale, so that a wide and a narrow one are both seen. */
export function drawn({ steps, edges, shares }: Heat): Uint8ClampedArray<ArrayBuffer> {
  const rows = edges.length - 1;
  const made = new Uint8ClampedArray(steps.length * rows * 4);
  shares.forEach((column, place) => {
    const most = Math.max(...column, 1e-12);
    column.forEach((share, row) => made.set([...heat(share / most), 255], ((rows - 1 - row) * steps.length + place) * 4));
  });
  return made;
}
