import { choose } from "../../links";
import { nearestPlace, Slider } from "../../pieces/Slider";
import type { Tag } from "./answers";
import { EventAt } from "./EventAt";
import { HistogramHeat } from "./HistogramHeat";

interface Props {
  run: string;
  tag: Tag;
  version: string;
  /** The step chosen for this tag, or for all; none: the last one. */
  wanted: string | undefined;
}

/** One tag: what it holds at the chosen step, and a slider over its steps. */
export function Card({ run, tag, version, wanted }: Props) {
  const last = tag.steps[tag.steps.length - 1] ?? 0;
  const at = wanted === undefined ? last : (tag.steps[nearestPlace(tag.steps, Number(wanted))] ?? last);
  return (
    <article class={`pictures-card pictures-card-${tag.kind}`} aria-label={tag.name}>
      <h3 title={tag.name}>
        {tag.kind === "pictures" ? (
          <button type="button" data-walk="" onClick={() => choose({ kind: tag.kind, tag: tag.tag, at: String(at) }, false)}>
            {tag.name}
          </button>
        ) : (
          tag.name
        )}
      </h3>
      {tag.kind === "histograms" ? <HistogramHeat run={run} tag={tag.tag} version={version} /> : <EventAt run={run} kind={tag.kind} tag={tag.tag} step={at} version={version} />}
      {tag.kind === "histograms" ? null : tag.steps.length > 1 ? (
        <Slider label="Step" stops={tag.steps} value={at} onChange={(stop) => choose({ [`at ${tag.kind} ${tag.tag}`]: String(stop) })} />
      ) : (
        <p class="quiet pictures-steps">step {at.toLocaleString("en-US")}</p>
      )}
    </article>
  );
}
