import { useState } from "preact/hooks";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { Choice } from "../../pieces/Choice";
import { nearestPlace, Slider } from "../../pieces/Slider";
import type { Tag } from "./answers";
import { EventAt } from "./EventAt";

interface Props {
  run: string;
  tag: Tag;
  version: string;
  chosen: Record<string, string>;
}

const ZOOMS = [
  { value: "0", title: "Fit" },
  { value: "1", title: "1x" },
  { value: "2", title: "2x" },
  { value: "4", title: "4x" },
  { value: "8", title: "8x" },
] as const;
const WAYS = [
  { value: "one", title: "One step" },
  { value: "side", title: "Side by side", hint: "Two steps, one beside the other" },
  { value: "wipe", title: "Wipe", hint: "Two steps, one over the other" },
] as const;
type Way = (typeof WAYS)[number]["value"];
type Zoom = (typeof ZOOMS)[number]["value"];

/** One tag in full: any step, two steps before and after, and its single pixels. */
export function Compare({ run, tag, version, chosen }: Props) {
  const { steps } = tag;
  const at = (word: string | undefined, otherwise: number | undefined) => steps[nearestPlace(steps, Number(word ?? otherwise))] ?? 0;
  const after = at(chosen.at, steps[steps.length - 1]);
  const before = at(chosen.before, steps[0]);
  const way = WAYS.find((each) => each.value === chosen.way)?.value ?? (chosen.before !== undefined ? "side" : "one");
  const zoom = ZOOMS.find((each) => each.value === chosen.zoom)?.value ?? "0";
  const shown = { run, kind: tag.kind, tag: tag.tag, version, zoom: Number(zoom) };
  return (
    <section class="pictures-compare" aria-label={tag.name}>
      <div class="pictures-compare-head">
        <Button onClick={() => choose({ tag: undefined, kind: undefined, at: undefined, before: undefined, way: undefined, zoom: undefined }, false)}>All pictures</Button>
        <h2 title={tag.name}>{tag.name}</h2>
      </div>
      <div class="pictures-tools">
        <Choice<Way> label="Show" quiet options={WAYS} value={way} onChange={(value) => choose({ way: value })} />
        <Choice<Zoom> label="Zoom" options={ZOOMS} value={zoom} onChange={(value) => choose({ zoom: value })} />
      </div>
      {way === "one" ? null : <Slider label="Before" stops={steps} value={before} onChange={(stop) => choose({ before: String(stop) })} />}
      <Slider label={way === "one" ? "Step" : "After"} stops={steps} value={after} onChange={(stop) => choose({ at: String(stop) })} />
      {way === "one" ? <div class="pictures-stage" tabIndex={0} role="region" aria-label="The picture"><EventAt {...shown} step={after} /></div> : null}
      {way === "side" ? <Beside before={<EventAt {...shown} step={before} />} after={<EventAt {...shown} step={after} />} names={[before, after]} /> : null}
      {way === "wipe" ? <Wipe before={<EventAt {...shown} step={before} />} after={<EventAt {...shown} step={after} />} /> : null}
    </section>
  );
}

function Beside({ before, after, names }: { before: preact.ComponentChildren; after: preact.ComponentChildren; names: [number, number] }) {
  return (
    <div class="pictures-beside">
      {[before, after].map((each, place) => (
        <figure key={place}>
          <figcaption>
            {place ? "After" : "Before"}, step {names[place]?.toLocaleString("en-US")}
          </figcaption>
          <div class="pictures-stage" tabIndex={0} role="region" aria-label={place ? "After" : "Before"}>{each}</div>
        </figure>
      ))}
    </div>
  );
}

function Wipe({ before, after }: { before: preact.ComponentChildren; after: preact.ComponentChildren }) {
  const [place, setPlace] = useState(50);
  return (
    <div class="pictures-stage" tabIndex={0} role="region" aria-label="Before and after, one over the other">
      <label class="pictures-wiper">
        <span class="field-label">Before</span>
        <input type="range" min={0} max={100} value={place} aria-label="Where before ends and after begins" onInput={(event) => setPlace(Number(event.currentTarget.value))} />
        <span class="field-label">After</span>
      </label>
      <div class="pictures-wipe">
        <div>{after}</div>
        <div class="pictures-wipe-over" style={{ clipPath: `inset(0 ${100 - place}% 0 0)` }}>{before}</div>
        <span class="pictures-wipe-line" style={{ left: `${place}%` }} aria-hidden="true" />
      </div>
    </div>
  );
}
