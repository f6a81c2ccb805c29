import { useAnswer } from "../../answer_hooks";
import { Chart } from "../../charts/Chart";
import { Icicle } from "../../icicle/Icicle";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { count, duration, number, percent } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Table } from "../../pieces/Table";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import { MemoryArea, MemoryUseArea } from "./MemoryArea";
import { ProfileTables } from "./ProfileTables";
import { SampledLines } from "./SampledLines";
import { Split } from "./Split";
import { linesOf, untold, type SlowStep, type Steps, type Timing } from "./timing";
import "./time.css";

function Time({ run, version, chosen }: Shown) {
  const { answer, error } = useAnswer<Timing>("timing", { run }, version);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the times of the steps" />;
  if (!answer.steps && !answer.memory && !answer.profile)
    return <Empty title="No times were recorded in this run.">They are where torch-debugger run watches a training, from its first step on.</Empty>;
  return (
    <>
      <h1 class="time-title">Time and memory</h1>
      {answer.steps ? <Summary steps={answer.steps} cost={answer.cost} /> : null}
      {answer.split ? (
        <Panel title="Where the time of a step goes" about="All steps together.">
          <Split parts={answer.split} label="Time of all steps" />
        </Panel>
      ) : null}
      {answer.steps ? <Durations steps={answer.steps} log={chosen.lin !== "1"} /> : null}
      {answer.slowest.length > 1 ? <Slowest steps={answer.slowest} median={answer.steps?.median_s ?? 0} /> : null}
      {answer.profile ? <ProfileTables profile={answer.profile} /> : null}
      {answer.modules ? (
        <Panel title="Time by module" about="A part stands below its whole and is as wide as its time. Press one to see it alone.">
          <Icicle root={answer.modules} label="Time by module" />
        </Panel>
      ) : null}
      {answer.sampled.length ? <SampledLines sampled={answer.sampled} chosen={chosen.stacks} /> : null}
      {answer.memory_use?.length ? (
        <Panel title="What the memory is used for" about="Before the backward of the steps that were looked at; the line marks the fullest of them.">
          {answer.memory_use.map((use) => (
            <MemoryUseArea key={use.device} use={use} />
          ))}
        </Panel>
      ) : null}
      {answer.memory ? (
        <Panel title={answer.memory.unit ? "Memory over time" : "Memory over the steps"}>
          <MemoryArea memory={answer.memory} />
        </Panel>
      ) : null}
      <p class="quiet">{untold(answer)}</p>
    </>
  );
}

function Summary({ steps, cost }: { steps: Steps; cost: Timing["cost"] }) {
  const wait = steps.wait_s === null ? "" : ` The training waited ${duration(steps.wait_s)} for data, ${percent(steps.total_s > 0 ? steps.wait_s / steps.total_s : null)} of its time.`;
  return (
    <p class="time-summary">
      Half of the steps take <b>{duration(steps.median_s)}</b> or less{steps.steps_per_s === null ? "" : `, which makes ${number(steps.steps_per_s, 3)} steps a second`}; one in twenty takes {duration(steps.slow_s)} or more. {count(steps.count, "step")} took {duration(steps.total_s)} together.{wait}
      {cost ? ` torch-debugger itself took ${duration(cost.spent_s)} of it, most of that in ${count(cost.looks, "step")} that it looked at closely.` : ""}
    </p>
  );
}

function Durations({ steps, log }: { steps: Steps; log: boolean }) {
  const scale = (
    <Button pressed={log} onClick={() => choose({ lin: log ? "1" : undefined })}>
      Log scale
    </Button>
  );
  return (
    <Panel title="Seconds a step takes" tools={scale} about={steps.stretches.length < steps.count ? "Steps next to each other are drawn as one point; the slowest of them is kept." : undefined}>
      <Chart label="Seconds a step takes" lines={linesOf(steps.stretches)} logY={log} height={240} />
    </Panel>
  );
}

function Slowest({ steps, median }: { steps: readonly SlowStep[]; median: number }) {
  const columns = [
    { title: "Step", numeric: true, cell: (row: SlowStep) => number(row.step) },
    { title: "Took", numeric: true, cell: (row: SlowStep) => duration(row.seconds) },
    { title: "Times the median", numeric: true, cell: (row: SlowStep) => (median > 0 ? `${number(row.seconds / median, 3)} ×` : "") },
    ...(steps.some((row) => row.wait_s !== null) ? [{ title: "Waiting for data", numeric: true, cell: (row: SlowStep) => duration(row.wait_s) }] : []),
    ...(steps.some(reason) ? [{ title: "Why, as far as it is known", cell: (row: SlowStep) => reason(row) || <span class="quiet">not known</span> }] : []),
  ];
  return (
    <Panel title="Slowest steps">
      <Table caption="Slowest steps" columns={columns} rows={steps} />
    </Panel>
  );
}

export function reason(row: SlowStep): string {
  const known = [
    row.step <= 1 ? "the first step: libraries are loaded and memory is taken" : "",
    row.wait_s !== null && row.wait_s > row.seconds / 10 ? `waited ${duration(row.wait_s)} for data${row.wait_s > row.seconds / 2 ? ", most of it" : ""}` : "",
    row.evaluated ? "an evaluation ran in it" : "",
    row.looked_at ? "torch-debugger looked at it closely" : "",
  ];
  return known.filter(Boolean).join("; ");
}

export const view: View = { name: "time", title: "Time and memory", place: 70, appears: (about) => Boolean(about.has.time || about.has.memory), Body: Time };
