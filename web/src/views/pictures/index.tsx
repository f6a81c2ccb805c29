import { useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { useLast } from "../../last_answer";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { count } from "../../pieces/numbers";
import { NotShown } from "../../pieces/NotShown";
import { Panel } from "../../pieces/Panel";
import { SearchField } from "../../pieces/SearchField";
import { Slider } from "../../pieces/Slider";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import type { Kind, Media, Tag } from "./answers";
import { Card } from "./Card";
import { Compare } from "./Compare";
import "./pictures.css";

const AT_ONCE = 24;
const TITLES: Record<Kind, string> = { pictures: "Pictures", texts: "Texts", sounds: "Sounds", histograms: "Histograms" };

function Pictures({ run, about, version, chosen }: Shown) {
  const find = chosen.find ?? "";
  const { answer: now, error } = useAnswer<Media>("media", { run, find }, version);
  const answer = useLast(now);
  const open = answer?.tags.find((each) => each.tag === chosen.tag && each.kind === (chosen.kind ?? "pictures"));
  return (
    <>
      <h1 class="pictures-title">Pictures</h1>
      {error ? <Problem text={error} /> : null}
      {!answer && !error ? <Waiting what="what was logged" /> : null}
      {answer?.all === 0 ? <Nothing /> : null}
      {answer && answer.all > 0 && !open ? <All run={run} version={version} chosen={chosen} media={answer} find={find} /> : null}
      <NotShown about={about} />
      {open ? <Compare run={run} tag={open} version={version} chosen={chosen} /> : null}
    </>
  );
}

function Nothing() {
  return (
    <Empty title="This run has logged no pictures, texts, sounds or histograms.">
      <p>
        Pictures of the model come from <code>torch_debugger.pictures</code>, others from <code>add_image</code>, <code>add_figure</code> or <code>add_text</code> of a SummaryWriter. A
        SummaryWriter with a folder of its own writes a run of its own: choose that one above.
      </p>
    </Empty>
  );
}

interface AllProps {
  run: string;
  version: string;
  chosen: Record<string, string>;
  media: Media;
  find: string;
}

function All({ run, version, chosen, media, find }: AllProps) {
  const steps = [...new Set(media.tags.filter((each) => each.kind !== "histograms").flatMap((each) => each.steps))].sort((one, other) => one - other);
  return (
    <>
      <div class="pictures-tools">
        <SearchField label="Find a tag" value={find} onInput={(value) => choose({ find: value })} found={`${count(media.found, "tag")} of ${media.all.toLocaleString("en-US")}`} />
        {steps.length > 1 ? <Slider label="All at step" stops={steps} value={Number(chosen.step ?? steps[steps.length - 1])} onChange={(stop) => choose(together(chosen, stop))} /> : null}
      </div>
      {media.found === 0 ? <Empty title={`No tag has “${find}” in its name.`} /> : null}
      {(Object.keys(TITLES) as Kind[]).map((kind) => (
        <Section key={kind} run={run} version={version} chosen={chosen} kind={kind} tags={media.tags.filter((each) => each.kind === kind)} />
      ))}
      {media.found > media.tags.length ? <p class="quiet">{count(media.found - media.tags.length, "more tag")}: type a part of their names to find them.</p> : null}
    </>
  );
}

/** One step for all takes back what was chosen for single tags. */
function together(chosen: Record<string, string>, stop: number): Record<string, string | undefined> {
  const single = Object.keys(chosen).filter((name) => name.startsWith("at "));
  return { ...Object.fromEntries(single.map((name) => [name, undefined])), step: String(stop) };
}

function Section({ run, version, chosen, kind, tags }: { run: string; version: string; chosen: Record<string, string>; kind: Kind; tags: Tag[] }) {
  const [shown, setShown] = useState(AT_ONCE);
  if (tags.length === 0) return null;
  return (
    <Panel title={TITLES[kind]} about={kind === "histograms" ? "Steps from left to right, values from bottom to top; brighter is more of a step's values." : undefined}>
      <div class={`pictures-grid pictures-grid-${kind}`}>
        {tags.slice(0, shown).map((tag) => (
          <Card key={tag.tag} run={run} tag={tag} version={version} wanted={chosen[`at ${kind} ${tag.tag}`] ?? chosen.step} />
        ))}
      </div>
      {tags.length > shown ? <Button onClick={() => setShown(shown + AT_ONCE)}>Show {Math.min(AT_ONCE, tags.length - shown)} more of {tags.length - shown}</Button> : null}
    </Panel>
  );
}

export const view: View = { name: "pictures", title: "Pictures", place: 60, appears: (about) => about.has.pictures === true, Body: Pictures };
