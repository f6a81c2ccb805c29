import type { About } from "../../answers";
import { useAnswer } from "../../answer_hooks";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import type { Data as Told, Headings } from "./answers";
import { Batches } from "./Batches";
import "./data.css";
import { Findings } from "./Findings";
import { LabelBars } from "./LabelBars";
import { Loaders } from "./Loaders";
import { hasOddNumbers, Ranges } from "./Ranges";

function Data({ run, about, version, chosen }: Shown) {
  const headings = useAnswer<Headings>("samples", { run }, version);
  const data = useAnswer<Told>("data", { run }, version);
  const error = headings.error ?? data.error;
  return (
    <>
      <h1 class="data-title">Data</h1>
      {error ? <Problem text={error} /> : null}
      {data.answer ? <Findings run={run} findings={data.answer.findings} oddNumbers={hasOddNumbers(data.answer.ranges)} watched={about.watched} /> : null}
      {headings.answer?.steps.length ? <Batches run={run} version={version} headings={headings.answer} classes={data.answer?.classes ?? []} chosen={chosen.step} /> : null}
      {headings.answer && headings.answer.steps.length === 0 ? <NoSamples watched={about.watched} status={about.status} steps={about.steps} /> : null}
      {data.answer ? (
        <>
          <LabelBars labels={data.answer.labels} />
          <Ranges ranges={data.answer.ranges} />
          <Loaders loaders={data.answer.loaders} />
        </>
      ) : null}
      {!error && !(headings.answer && data.answer) ? <Waiting what="the data" /> : null}
    </>
  );
}

function NoSamples({ watched, status, steps }: { watched: boolean; status: About["status"]; steps: number }) {
  if (!watched) return <Empty title="No samples of the data are in this log.">They are kept where a script runs under torch-debugger run; this log was written by another tool.</Empty>;
  if (status === "running") return <Empty title="No samples of the data yet.">The first ones come with the first training step.</Empty>;
  if (steps === 0 && (status === "crashed" || status === "killed"))
    return <Empty title="No samples of the data are in this log.">They are taken when the outermost module is called in a training step: this run {status === "killed" ? "was killed" : "crashed"} before its first step was done.</Empty>;
  return (
    <Empty title="No samples of the data are in this log.">
      They are taken from what the outermost module is given in a training step. There was none, its calls could not be seen (a compiled model), or the run was started
      with --no-samples.
    </Empty>
  );
}

export const view: View = { name: "data", title: "Data", place: 50, appears: (about) => about.has.data === true, Body: Data };
