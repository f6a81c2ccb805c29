import { rampColour } from "./colouring";
import type { Measured } from "./module_numbers";

type Props = Pick<Measured, "title" | "about" | "scale" | "odd" | "none" | "say">;

const STOPS = [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1];

export function Legend({ title, about, scale, odd, none, say }: Props) {
  if (!scale) return <p class="model-legend quiet">{title} was not measured as a finite number for any module at any step.</p>;
  return (
    <figure class="model-legend">
      <figcaption>
        {title}, {scale.kind === "log" ? "logarithmic scale" : "even scale"}. <span class="quiet">{about}</span>
      </figcaption>
      <div class="model-legend-row">
        <span>{say(scale.low)}</span>
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
        <span>{say(scale.high)}</span>
        {odd ? <span class="model-odd">NaN or Inf</span> : null}
        <span class="model-none">{none}</span>
      </div>
    </figure>
  );
}
