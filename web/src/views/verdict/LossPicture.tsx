import { writeLink } from "../../links";
import { number } from "../../pieces/numbers";
import type { LossCurve } from "./answers";
import { oddPoints, pathOf, scaleOf } from "./loss_scale";
import { lossInWords } from "./words";

const WIDTH = 1000;
const HEIGHT = 320;
const MOST_MARKS = 200;

interface Props {
  run: string;
  loss: LossCurve;
  /** The step at which the finding begins. */
  marked: number | null;
}

/** The loss, its values that are not finite as marks, and the finding's step as an upright line. */
export function LossPicture({ run, loss, marked }: Props) {
  const scale = scaleOf(loss);
  const inside = marked !== null && loss.steps.length > 0;
  return (
    <figure class="verdict-loss">
      <div class="verdict-loss-high quiet">{number(scale.high)}</div>
      <div class="verdict-loss-picture">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={lossInWords(loss, marked)}>
          <path class="verdict-loss-line" d={pathOf(loss, scale, WIDTH, HEIGHT)} />
        </svg>
        {inside ? <Mark at={scale.x(marked)} step={marked} /> : null}
        {oddPoints(loss)
          .slice(0, MOST_MARKS)
          .map(({ step, value }) => (
            <span key={step} class="verdict-loss-odd" style={{ left: `${scale.x(step) * 100}%` }} title={`${number(value)} at step ${step}`} />
          ))}
      </div>
      <div class="verdict-loss-low quiet">{number(scale.low)}</div>
      <div class="verdict-loss-steps quiet">
        <span>step {loss.steps[0]?.toLocaleString("en-US")}</span>
        <span>{loss.steps.at(-1)?.toLocaleString("en-US")}</span>
      </div>
      <figcaption class="quiet">
        <OddWords loss={loss} />
        {scale.logarithmic ? "Logarithmic axis. " : null}
        <a href={writeLink({ view: "curves", parameters: { run, tag: loss.tag } })}>All curves</a>
      </figcaption>
    </figure>
  );
}

function Mark({ at, step }: { at: number; step: number }) {
  return (
    <span class={at > 0.6 ? "verdict-loss-mark verdict-loss-mark-left" : "verdict-loss-mark"} style={{ left: `${at * 100}%` }}>
      <span>step {step.toLocaleString("en-US")}</span>
    </span>
  );
}

function OddWords({ loss }: { loss: LossCurve }) {
  const odd = oddPoints(loss);
  if (odd.length === 0) return null;
  return (
    <>
      <span class="verdict-loss-key" aria-hidden="true" /> {odd.length === 1 ? "1 value is" : `${odd.length.toLocaleString("en-US")} values are`} NaN or Inf, the first at step {odd[0]?.step.toLocaleString("en-US")}.{" "}
    </>
  );
}
