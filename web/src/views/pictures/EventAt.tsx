import { useAnswer } from "../../answer_hooks";
import { addressOf } from "../../asking";
import { useLast } from "../../last_answer";
import { count, number } from "../../pieces/numbers";
import { Problem, Waiting } from "../../states";
import type { Event, Item, Kind } from "./answers";
import { Markdown } from "./Markdown";
import { PictureAt } from "./PictureAt";

interface Props {
  run: string;
  kind: Kind;
  tag: string;
  step: number;
  version: string;
  zoom?: number;
}

/** Everything that one event holds: one picture or several, a text, a sound. */
export function EventAt({ run, kind, tag, step, version, zoom = 0 }: Props) {
  const { answer: now, error } = useAnswer<Event>("media", { run, kind, tag, step }, version);
  const answer = useLast(now);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what={`step ${number(step)}`} />;
  if (answer.items.length === 0) return <p class="pictures-problem">What was logged here is damaged and cannot be read.</p>;
  return (
    <div class={answer.items.length > 1 ? "pictures-several" : undefined}>
      {answer.items.map((item, place) => (
        <ItemOf key={place} run={run} kind={kind} tag={tag} step={answer.step} item={item} zoom={zoom} />
      ))}
    </div>
  );
}

function ItemOf({ run, kind, tag, step, item, zoom }: { run: string; kind: Kind; tag: string; step: number; item: Item; zoom: number }) {
  if (kind === "pictures") return <PictureAt run={run} tag={tag} step={step} item={item} zoom={zoom} />;
  if (kind === "sounds") return <SoundAt run={run} tag={tag} step={step} item={item} />;
  const cut = (item.characters ?? 0) - (item.text ?? "").length;
  return (
    <>
      <Markdown text={item.text ?? ""} />
      {cut > 0 ? <p class="quiet">{count(cut, "more character")} of this text are in the log.</p> : null}
    </>
  );
}

function SoundAt({ run, tag, step, item }: { run: string; tag: string; step: number; item: Item }) {
  const source = addressOf("sound", { run, tag, step, index: item.index ?? 0 });
  if (item.problem !== undefined || source === "") return <p class="pictures-problem">{item.problem ?? "This file does not hold this sound."}</p>;
  return <audio class="pictures-sound" controls preload="none" src={source} aria-label={`${tag} at step ${step.toLocaleString("en-US")}`} />;
}
