import { useMemo } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { isReport } from "../../asking";
import { Chart } from "../../charts/Chart";
import { useLast } from "../../last_answer";
import { choose } from "../../links";
import { number } from "../../pieces/numbers";
import { nearestPlace, Slider } from "../../pieces/Slider";
import { Table } from "../../pieces/Table";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import { readList, writeList } from "../curves/choices";
import { Overlay } from "../curves/RunChooser";
import "./pr.css";
import { linesOf, stepsOf, type PrAnswer, type PrCurveAnswer, type PrTag } from "./pr_answers";

function PrCurves({ run, version, chosen }: Shown) {
  const others = useMemo(() => (isReport() ? [] : readList(chosen.runs).filter((other) => other !== run)), [run, chosen.runs]);
  const runs = useMemo(() => [run, ...others], [run, others]);
  const { answer: now, error } = useAnswer<{ tags: PrTag[] }>("pr_curves", { ...named(runs) }, version);
  const answer = useLast(now);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the curves" />;
  const steps = stepsOf(answer.tags);
  const last = steps[steps.length - 1] ?? 0;
  return (
    <>
      <h1 class="pr-title">Precision and recall</h1>
      {answer.tags.length === 0 ? (
        <Empty title="This run has logged no precision-recall curves.">
          They come from <code>add_pr_curve(tag, labels, predictions, step)</code> of a SummaryWriter.
        </Empty>
      ) : null}
      <div class="pr-tools">
        {steps.length > 1 ? <Slider label="All at step" stops={steps} value={Number(chosen.step ?? last)} onChange={(stop) => choose(together(chosen, stop))} /> : null}
        {isReport() ? null : <Overlay run={run} others={others} />}
      </div>
      <div class="pr-grid">
        {answer.tags.map((tag) => (
          <Card key={tag.tag} tag={tag} runs={runs} version={version} wanted={Number(chosen[`at ${tag.tag}`] ?? chosen.step ?? last)} />
        ))}
      </div>
    </>
  );
}

/** One step for all takes back what was chosen for single tags. */
function together(chosen: Record<string, string>, stop: number): Record<string, string | undefined> {
  const single = Object.keys(chosen).filter((name) => name.startsWith("at "));
  return { ...Object.fromEntries(single.map((name) => [name, undefined])), step: String(stop) };
}

function named(runs: readonly string[]): Record<string, string> {
  return runs.length > 1 ? { runs: writeList(runs) } : { run: runs[0] ?? "" };
}

interface CardProps {
  tag: PrTag;
  runs: string[];
  version: string;
  wanted: number;
}

function Card({ tag: { tag, steps }, runs, version, wanted }: CardProps) {
  const step = steps[nearestPlace(steps, wanted)] ?? 0;
  const { answer: now, error } = useAnswer<PrAnswer>("pr_curves", { ...named(runs), tag, step }, version);
  const answer = useLast(now);
  const lines = useMemo(() => (answer ? linesOf(answer.curves, runs) : []), [answer, runs]);
  return (
    <article class="pr-card" aria-label={tag}>
      <h2>{tag}</h2>
      <div class="pr-body">
        {error ? <Problem text={error} /> : null}
        {!answer && !error ? <Waiting what={tag} /> : null}
        {lines.length ? <Chart label={`Precision over recall, ${tag}`} lines={lines} x={{ name: "recall", kind: "number" }} whole={[0, 1]} height={240} /> : null}
        {answer ? <Numbers tag={tag} curves={answer.curves} /> : null}
      </div>
      {steps.length > 1 ? <Slider label="Step" stops={steps} value={step} onChange={(stop) => choose({ [`at ${tag}`]: String(stop) })} /> : <p class="quiet">step {step.toLocaleString("en-US")}</p>}
    </article>
  );
}

function Numbers({ tag, curves }: { tag: string; curves: readonly PrCurveAnswer[] }) {
  return (
    <Table
      caption={`${tag}: each run's numbers`}
      rows={curves}
      columns={[
        { title: "Run", cell: (curve: PrCurveAnswer) => curve.run },
        { title: "Step", numeric: true, cell: (curve: PrCurveAnswer) => number(curve.step) },
        { title: "Average precision", numeric: true, cell: (curve: PrCurveAnswer) => number(curve.average_precision) },
        { title: "Best F1", numeric: true, cell: (curve: PrCurveAnswer) => number(curve.best.f1) },
        { title: "at threshold", numeric: true, cell: (curve: PrCurveAnswer) => number(curve.best.threshold) },
      ]}
    />
  );
}

export const view: View = { name: "pr", title: "PR curves", place: 25, appears: (about) => (about.tags.pr_curves ?? 0) > 0, Body: PrCurves };
