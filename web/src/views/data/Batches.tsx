import { useAnswer } from "../../answer_hooks";
import { useLast } from "../../last_answer";
import { choose } from "../../links";
import { count, number } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { nearestPlace, Slider } from "../../pieces/Slider";
import { Problem, Waiting } from "../../states";
import type { Batch, Headings, Sample } from "./answers";
import { labelsOf } from "./labels";
import { lossWord } from "./words";
import { MaskGrid, PictureGrid } from "./PictureGrid";
import { SeriesGrid } from "./SeriesGrid";
import { TokenRows } from "./TokenRows";
import { VectorRows } from "./VectorRows";

interface Props {
  run: string;
  version: string;
  headings: Headings;
  classes: readonly string[];
  chosen: string | undefined;
}

/** The first samples of a batch, as the model and the loss were given them, step by step. */
export function Batches({ run, version, headings, classes, chosen }: Props) {
  const stops = headings.steps;
  const step = stops[nearestPlace(stops, Number(chosen ?? stops[0]))] ?? 1;
  const { answer: now, error } = useAnswer<Batch>("samples", { run, step }, version);
  const answer = useLast(now);
  return (
    <Panel
      title="Batches as the model saw them"
      about="The first samples of a batch at a few steps: what came into the outermost module, and what the loss compared it with."
    >
      <div class="data-chooser">
        <Slider label="Step" stops={stops} value={step} onChange={(stop) => choose({ step: String(stop) })} />
      </div>
      {error ? <Problem text={error} /> : null}
      {answer ? answer.tensors.map((tensor, place) => <Tensor key={place} sample={tensor} batch={answer.tensors} classes={classes} />) : error ? null : <Waiting what="the samples" />}
      {answer && !answer.tensors.some((each) => each.role === "target") ? <p class="data-about">{NO_TARGET}</p> : null}
    </Panel>
  );
}

const NO_TARGET =
  "The targets of this step could not be seen: they are read from the loss functions of torch and from differences such as (output - target) ** 2.";

interface TensorProps {
  sample: Sample;
  batch: Sample[];
  classes: readonly string[];
}

function Tensor({ sample, batch, classes }: TensorProps) {
  return (
    <section class="data-tensor" aria-label={`${sample.role} ${sample.name}`}>
      <h3>
        {sample.role === "input" ? (
          <>
            <span class="quiet">into {sample.root}:</span> <code>{sample.name}</code>
          </>
        ) : (
          <>
            <span class="quiet">target of</span> <code>{lossWord(sample.name)}</code>
          </>
        )}
      </h3>
      <p class="data-about">{sentenceOf(sample)}</p>
      {sample.problem !== undefined ? <Problem text={sample.problem} /> : <Drawn sample={sample} batch={batch} classes={classes} />}
    </section>
  );
}

function Drawn({ sample, batch, classes }: TensorProps) {
  if (sample.kind === "image") return <PictureGrid sample={sample} labels={sample.role === "input" ? labelsOf(sample, batch, classes) : []} />;
  if (sample.kind === "mask") return <MaskGrid sample={sample} />;
  if (sample.kind === "tokens") return <TokenRows sample={sample} />;
  if (sample.kind === "series") return <SeriesGrid sample={sample} />;
  return <VectorRows sample={sample} />;
}

/** Shape, type and true range, and what was left out or changed to show it. */
export function sentenceOf(sample: Sample): string {
  const [batch = 0] = sample.shape;
  const shown = sample.kept[0] ?? 0;
  const parts = [
    `${sample.dtype} ${sample.shape.join(" x ")}`,
    `from ${number(sample.low)} to ${number(sample.high)}, mean ${number(sample.mean)}, std ${number(sample.std)} over ${shown < batch ? `the first ${shown} of ${batch}` : `all ${batch}`}`,
    ...(sample.not_finite ? [`${count(sample.not_finite, "number")} of those shown ${sample.not_finite === 1 ? "is" : "are"} NaN or Inf`] : []),
    ...(leftOut(sample) ? [leftOut(sample)] : []),
    ...(sample.kind === "series" && (sample.kept[1] ?? 0) > 1 ? ["channels from top to bottom"] : []),
    ...(sample.note ? [sample.note] : []),
  ];
  return `${parts.join("; ")}.`;
}

function leftOut({ kind, shape, kept }: Sample): string {
  if (kind === "image") return pictureSentence(shape, kept);
  const [all, some] = [Math.max(...shape.slice(1), 0), Math.max(...kept.slice(1), 0)];
  return kind !== "mask" && all > some ? `the first ${some} of ${all} shown` : "";
}

function pictureSentence(shape: number[], [, channels = 1, high = 0, wide = 0]: number[]): string {
  const smaller = Math.max(...shape.slice(1)) > Math.max(high, wide, channels);
  const fewer = channels === 4 && !shape.slice(1).includes(4);
  return [smaller ? `shown at ${wide} x ${high} pixels` : "", fewer ? "its first 4 channels" : "", "black is the lowest value, white the highest"].filter(Boolean).join(", ");
}
