import { useAnswer } from "../../answer_hooks";
import { useLast } from "../../last_answer";
import { choose } from "../../links";
import { Select } from "../../pieces/Select";
import { nearestPlace, Slider } from "../../pieces/Slider";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import type { Embedding, Embeddings, EmbeddingTag } from "./answers";
import { Projector } from "./Projector";
import "./projector.css";

function Body({ run, version, chosen }: Shown) {
  const { answer: now, error } = useAnswer<Embeddings>("embeddings", { run }, version);
  const answer = useLast(now);
  const open = answer?.embeddings.find((each) => each.tag === chosen.tag) ?? answer?.embeddings[0];
  return (
    <>
      <h1 class="projector-title">Projector</h1>
      {error ? <Problem text={error} /> : null}
      {answer?.fault ? <Problem text={answer.fault} /> : null}
      {!answer && !error ? <Waiting what="the embeddings" /> : null}
      {answer && !open && !answer.fault ? (
        <Empty title="This run has logged no embeddings.">
          <p>
            They come from <code>add_embedding</code> of a SummaryWriter: points with their labels and pictures.
          </p>
        </Empty>
      ) : null}
      {answer && open ? <Open run={run} all={answer.embeddings} open={open} version={version} chosen={chosen} /> : null}
    </>
  );
}

interface OpenProps extends Pick<Shown, "run" | "version" | "chosen"> {
  all: EmbeddingTag[];
  open: EmbeddingTag;
}

function Open({ run, all, open, version, chosen }: OpenProps) {
  const last = open.steps[open.steps.length - 1] ?? 0;
  const step = chosen.step === undefined ? last : (open.steps[nearestPlace(open.steps, Number(chosen.step))] ?? last);
  const { answer: now, error } = useAnswer<Embedding>("embeddings", { run, tag: open.tag, step }, version);
  const embedding = useLast(now);
  return (
    <>
      <div class="projector-bar">
        {all.length > 1 ? (
          <Select
            label="Embedding"
            options={all.map((each) => ({ value: each.tag, title: each.tag }))}
            value={open.tag}
            onChange={(tag) => choose({ tag, step: undefined, point: undefined, only: undefined, colour: undefined, find: undefined })}
          />
        ) : (
          <p class="projector-name">{open.tag}</p>
        )}
        {open.steps.length > 1 ? <Slider label="Step" stops={open.steps} value={step} onChange={(stop) => choose({ step: String(stop) })} /> : <p class="quiet">step {step.toLocaleString("en-US")}</p>}
        {embedding ? <p class="quiet">{sizeText(embedding)}</p> : null}
      </div>
      {error ? <Problem text={error} /> : null}
      {!embedding && !error ? <Waiting what="the points" /> : null}
      {embedding && !error ? <Projector run={run} embedding={embedding} chosen={chosen} /> : null}
    </>
  );
}

function sizeText(embedding: Embedding): string {
  return `${embedding.all_points.toLocaleString("en-US")} points in ${embedding.dimensions.toLocaleString("en-US")} dimensions`;
}

export const view: View = { name: "projector", title: "Projector", place: 62, appears: (about) => about.has.projector === true, Body };
