import { useAnswer } from "../../answer_hooks";
import { choose } from "../../links";
import { bytes, duration, number, percent } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Select } from "../../pieces/Select";
import { Empty, Problem, Waiting } from "../../states";
import type { Change, DifferenceAnswer, TraceEntry } from "./answers";
import { SortTable, type SortColumn } from "./SortTable";
import { shortKernel } from "./Tables";

/** What a step of this trace takes longer or less than one of another, and where. */
export function Difference({ trace, traces, other }: { trace: string; traces: readonly TraceEntry[]; other: string | undefined }) {
  const others = traces.filter((each) => each.name !== trace && each.ready);
  const before = others.find((each) => each.name === other)?.name ?? others[0]?.name;
  const { answer, error } = useAnswer<DifferenceAnswer>(before === undefined ? null : "trace_difference", { before, after: trace });
  if (before === undefined) return <Empty title="There is one trace here.">Open a folder with several, or name two: torch-debugger view before.pt.trace.json after.pt.trace.json</Empty>;
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the difference" />;
  const own = answer.on_device ? "GPU time" : "CPU time";
  return (
    <>
      <p class="profile-tools">
        <Select label="Compared with" value={before} options={others.map((each) => ({ value: each.name, title: each.name }))} onChange={(name) => choose({ with: name })} />
      </p>
      <p class="profile-summary">
        A step takes <b>{duration(answer.step.after_s)}</b> here and {duration(answer.step.before_s)} there: {change(answer.step)}.
        {Object.entries(answer.peak_bytes).map(([device, [one, two]]) => ` The peak of memory on ${device} is ${bytes(two)} here and ${bytes(one)} there.`)}
      </p>
      <Panel title="A step, by what it was spent on">
        <SortTable caption="Parts of a step" what="part" rows={answer.parts} columns={COLUMNS.slice(0, 4)} by="More" />
      </Panel>
      <Panel title="Operators" about={`Their own ${own} in a step. Sorted by More, the largest growth comes first.`}>
        <SortTable caption="Operators that changed" what="operator" rows={answer.ops} columns={COLUMNS} by="More" words={(row) => row.name} />
      </Panel>
      {answer.kernels.length ? (
        <Panel title="Kernels">
          <SortTable caption="Kernels that changed" what="kernel" rows={answer.kernels} columns={COLUMNS} by="More" words={(row) => row.name} />
        </Panel>
      ) : null}
    </>
  );
}

export function change({ before_s, after_s }: Change): string {
  if (!(before_s > 0)) return "there it took none";
  const more = after_s / before_s - 1;
  return Math.abs(more) < 0.001 ? "as long" : `${percent(Math.abs(more))} ${more > 0 ? "longer" : "shorter"}`;
}

const COLUMNS: SortColumn<Change>[] = [
  { title: "Name", value: (row) => row.name, cell: (row) => <code title={row.name}>{shortKernel(row.name)}</code> },
  { title: "There", value: (row) => row.before_s, cell: (row) => duration(row.before_s) },
  { title: "Here", value: (row) => row.after_s, cell: (row) => duration(row.after_s) },
  { title: "More", value: (row) => row.after_s - row.before_s, cell: (row) => `${row.after_s > row.before_s ? "+" : ""}${duration(row.after_s - row.before_s)}` },
  { title: "Calls there", value: (row) => row.before_calls, cell: (row) => number(row.before_calls) },
  { title: "Calls here", value: (row) => row.after_calls, cell: (row) => number(row.after_calls) },
];
