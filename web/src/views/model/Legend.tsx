import { number } from "../../pieces/numbers";
import { rampColour, type Scale } from "./colouring";

interface Props {
  title: string;
  about: string;
  scale: Scale | null;
  /** Whether anything that is shown is NaN or an infinity. */
  odd: boolean;
}

const STOPS = [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1];

export function Legend({ title, about, scale, odd }: Props) {
  if (!scale) return <p class="model-legend quiet">{title} was not measured as a finite number for any module at any step.</p>;
  return (
    <figure class="model-legend">
      <figcaption>
        {title} <span class="quiet">({about}; {scale.kind === "log" ? "logarithmic scale" : "linear scale"})</span>
      </figcaption>
      <div class="model-legend-row">
        <span>{number(scale.low, 3)}</span>
        <svg class="model-ramp" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
          <defs>
            <linearGradient id="model-ramp">
              {STOPS.map((share) => (
                <stop key={share} offset={share} stop-color={rampColour(scale.kind, share).fill} />
              ))}
            </linearGradient>
          </defs>
          <rect width="100" height="10" fill="url(#model-ramp)" />
        </svg>
        <span>{number(scale.high, 3)}</span>
        {odd ? <span class="model-odd">NaN or Inf</span> : null}
        <span class="model-none">not measured</span>
      </div>
    </figure>
  );
}
