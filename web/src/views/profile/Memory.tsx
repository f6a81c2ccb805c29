import { useAnswer } from "../../answer_hooks";
import { Chart } from "../../charts/Chart";
import { bytes, duration } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Empty, Problem, Waiting } from "../../states";
import type { Allocations, MemoryAnswer, Moments } from "./answers";
import { SortTable, type SortColumn } from "./SortTable";

const MEGABYTE = 1e6;
const MILLISECONDS = 1000; // in a second

export function Memory({ trace }: { trace: string }) {
  const { answer, error } = useAnswer<MemoryAnswer>("trace", { trace, part: "memory" });
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the memory" />;
  const { memory, allocations } = answer;
  if (!memory) return <Empty title="This trace has no memory.">It is there where torch.profiler was given profile_memory=True.</Empty>;
  return (
    <>
      {Object.keys(memory.allocated_bytes).map((device) => (
        <Panel key={device} title={`Memory on ${device}`} about={`At most ${bytes(memory.peak_bytes[device])}, ${duration(memory.peak_s[device] ?? null)} after the trace began.`}>
          <Chart label={`Megabytes on ${device}`} lines={linesOf(memory, device)} x={{ name: "ms", kind: "number" }} height={220} marks={[{ x: (memory.peak_s[device] ?? 0) * MILLISECONDS, label: "peak", colour: "--quiet" }]} />
        </Panel>
      ))}
      <Panel title="What asked for memory" about="Requests of torch's allocator by the operator that made them, over the whole trace. Kept is what it had not given back when it ended.">
        <SortTable caption="What asked for memory" what="operator" rows={allocations} columns={COLUMNS} by="Requested" words={(row) => row.op} />
      </Panel>
    </>
  );
}

function linesOf(memory: Moments, device: string) {
  const line = (name: string, sizes: readonly number[], colour: number) => ({ name, x: memory.moments_s.map((each) => each * MILLISECONDS), y: sizes.map((size) => size / MEGABYTE), colour });
  const reserved = memory.reserved_bytes[device];
  return [line("MB given out", memory.allocated_bytes[device] ?? [], 0), ...(reserved ? [line("MB reserved", reserved, 1)] : [])];
}

const COLUMNS: SortColumn<Allocations>[] = [
  { title: "Operator", value: (row) => row.op || "outside of operators", cell: (row) => (row.op ? <code>{row.op}</code> : "outside of operators") },
  { title: "Device", value: (row) => row.device, cell: (row) => row.device },
  { title: "Requests", value: (row) => row.allocations, cell: (row) => row.allocations.toLocaleString("en-US") },
  { title: "Requested", value: (row) => row.allocated_bytes, cell: (row) => bytes(row.allocated_bytes) },
  { title: "Kept", value: (row) => row.grown_bytes, cell: (row) => bytes(row.grown_bytes) },
];
