import { css, sequential } from "../../charts/heat_colours";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { count, number } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import type { Colouring } from "./label_colours";

interface Props {
  title: string;
  colouring: Colouring;
  /** The label that stands out; null where none was chosen. */
  only: string | null;
}

const STOPS = [0, 0.25, 0.5, 0.75, 1];

/** What the colours mean; a label that is pressed stands out. */
export function LabelPanel({ title, colouring, only }: Props) {
  const { groups, others, ramp } = colouring;
  return (
    <Panel title={`Colours: ${title}`}>
      {ramp ? (
        <div class="projector-ramp">
          <span>{number(ramp.low)}</span>
          <span class="projector-shades" style={{ background: `linear-gradient(to right, ${STOPS.map((share) => css(sequential(share))).join(", ")})` }} aria-hidden="true" />
          <span>{number(ramp.high)}</span>
        </div>
      ) : null}
      <ul class="projector-list">
        {groups.map((group) => (
          <li key={group.number}>
            <button type="button" aria-pressed={only === group.label} onClick={() => choose({ only: only === group.label ? undefined : group.label })}>
              <span class="projector-swatch" style={{ background: group.colour }} aria-hidden="true" />
              <span class="projector-name">{group.label || "(empty)"}</span>
              <span class="projector-number">{group.points.toLocaleString("en-US")}</span>
            </button>
          </li>
        ))}
      </ul>
      {others.labels ? (
        <p class="quiet">
          {count(others.labels, "more label")} with {count(others.points, "point")} share one grey. The search finds them.
        </p>
      ) : null}
      {only !== null ? <Button onClick={() => choose({ only: undefined })}>Show all alike</Button> : null}
    </Panel>
  );
}
