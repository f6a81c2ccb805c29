import { useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { Choice } from "../../pieces/Choice";
import { duration, number, percent } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Empty, Problem, Waiting } from "../../states";
import type { Kernel, KernelsAnswer, Operator, OperatorsAnswer } from "./answers";
import { SortTable, type SortColumn } from "./SortTable";

const GROUPS = [
  { value: "name", title: "By name" },
  { value: "shape", title: "By name and input shape" },
] as const;

export function Operators({ trace }: { trace: string }) {
  const { answer, error } = useAnswer<OperatorsAnswer>("trace", { trace, part: "operators" });
  const [by, setBy] = useState<"name" | "shape">("name");
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the operators" />;
  const shapes = by === "shape" && answer.by_shape.length > 0;
  const columns = operatorColumns(answer, shapes);
  return (
    <Panel
      title="Operators"
      about={answer.by_shape.length ? "A step. Self is without what the operator calls." : "A step. Self is without what the operator calls. Shapes are there with record_shapes=True."}
      tools={answer.by_shape.length ? <Choice label="Group" quiet options={GROUPS} value={by} onChange={setBy} /> : undefined}
    >
      <SortTable key={by} caption="Operators" what="operator" rows={shapes ? answer.by_shape : answer.by_name} columns={columns} by={answer.on_device ? "GPU self" : "CPU self"} words={(row) => `${row.name} ${row.shapes}`} />
    </Panel>
  );
}

function operatorColumns({ steps, on_device, by_name }: OperatorsAnswer, shapes: boolean): SortColumn<Operator>[] {
  const total = by_name.reduce((sum, each) => sum + (on_device ? each.device_self_s : each.host_self_s), 0) || 1;
  const time = (title: string, of: (row: Operator) => number) => ({ title, value: of, cell: (row: Operator) => duration(of(row) / steps) });
  return [
    { title: "Operator", value: (row) => row.name, cell: (row) => <code>{row.name}</code> },
    ...(shapes ? [{ title: "Inputs", value: (row: Operator) => row.shapes, cell: (row: Operator) => <code>{row.shapes}</code> }] : []),
    { title: "Calls", value: (row) => row.calls, cell: (row) => number(row.calls / steps) },
    ...(on_device ? [time("GPU self", (row) => row.device_self_s), time("GPU total", (row) => row.device_s)] : []),
    time("CPU self", (row) => row.host_self_s),
    time("CPU total", (row) => row.host_s),
    { title: "Share", value: (row) => (on_device ? row.device_self_s : row.host_self_s), cell: (row) => percent((on_device ? row.device_self_s : row.host_self_s) / total) },
  ];
}

export function Kernels({ trace }: { trace: string }) {
  const { answer, error } = useAnswer<KernelsAnswer>("trace", { trace, part: "kernels" });
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the kernels" />;
  if (!answer.kernels.length) return <Empty title="No kernels ran in this trace.">They are there where a GPU was used and torch.profiler was given ProfilerActivity.CUDA.</Empty>;
  const { steps } = answer;
  const total = answer.kernels.reduce((sum, each) => sum + each.total_s, 0) || 1;
  const columns: SortColumn<Kernel>[] = [
    { title: "Kernel", value: (row) => row.name, cell: (row) => <code class="profile-kernel" title={row.name}>{shortKernel(row.name)}</code> },
    { title: "Operator", value: (row) => row.op, cell: (row) => <code>{row.op}</code> },
    { title: "Calls", value: (row) => row.calls, cell: (row) => number(row.calls / steps) },
    { title: "Total", value: (row) => row.total_s, cell: (row) => duration(row.total_s / steps) },
    { title: "Share", value: (row) => row.total_s, cell: (row) => percent(row.total_s / total) },
    { title: "Mean", value: (row) => row.total_s / row.calls, cell: (row) => duration(row.total_s / row.calls) },
    { title: "Longest", value: (row) => row.longest_s, cell: (row) => duration(row.longest_s) },
    { title: "Blocks/SM", value: (row) => row.blocks_per_sm, cell: (row) => number(row.blocks_per_sm, 3) },
    { title: "Occupancy", value: (row) => row.occupancy, cell: (row) => percent(row.occupancy) },
    { title: "Tensor cores", value: (row) => (row.tensor_cores ? "yes" : "no"), cell: (row) => (row.tensor_cores ? "yes" : "no") },
  ];
  return (
    <Panel title="Kernels" about="A step. Whether a kernel uses tensor cores is read from its name; blocks and occupancy are the profiler's estimates.">
      <SortTable caption="Kernels" what="kernel" rows={answer.kernels} columns={columns} by="Total" words={(row) => `${row.name} ${row.op}`} />
    </Panel>
  );
}

/** Without what all names of C++ have. */
export function shortKernel(name: string): string {
  const plain = name.replace(/^void /, "").replaceAll("(anonymous namespace)::", "").replaceAll("at::native::", "");
  let depth = 0;
  for (let place = 0; place < plain.length; place++) {
    if (plain[place] === "<") depth += 1;
    else if (plain[place] === ">") depth -= 1;
    else if (plain[place] === "(" && depth === 0) return plain.slice(0, place);
  }
  return plain;
}
