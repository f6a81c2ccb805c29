// What the server says of a trace of torch.profiler: /ask/traces, /ask/trace, /ask/trace_timeline, /ask/trace_ranks,
// /ask/trace_difference. Times are seconds.
import type { Finding } from "../../answers";
import type { Node } from "../../icicle/cells";
import type { Profile } from "../time/timing";

export interface TraceEntry {
  name: string;
  file: string;
  ready: boolean;
  error: string | null;
  share: number | null;
  rank: number | null;
  step_s: number | null;
}

export interface Step {
  number: number;
  began_s: number;
  took_s: number;
  parts: Record<string, number>;
}

export interface Device {
  name: string;
  busy: number;
  sm_efficiency: number;
  occupancy: number;
  tensor_cores: number;
}

export interface OverviewAnswer {
  summary: string;
  file: string;
  steps: Step[];
  step_s: number;
  parts: Record<string, number>;
  device: Device | null;
  notes: string[];
  modules: Node | null;
  profile: Profile;
  findings: Finding[];
  has: Record<"operators" | "kernels" | "memory" | "stacks", boolean>;
}

export interface Operator {
  name: string;
  shapes: string;
  calls: number;
  host_self_s: number;
  host_s: number;
  device_self_s: number;
  device_s: number;
}

export interface OperatorsAnswer {
  steps: number;
  on_device: boolean;
  by_name: Operator[];
  by_shape: Operator[];
}

export interface Kernel {
  name: string;
  op: string;
  calls: number;
  total_s: number;
  shortest_s: number;
  longest_s: number;
  blocks_per_sm: number;
  occupancy: number;
  tensor_cores: boolean;
}

export interface KernelsAnswer {
  steps: number;
  kernels: Kernel[];
}

export interface Moments {
  moments_s: number[];
  allocated_bytes: Record<string, number[]>;
  reserved_bytes: Record<string, number[]>;
  peak_bytes: Record<string, number>;
  peak_s: Record<string, number>;
}

export interface Allocations {
  op: string;
  device: string;
  allocations: number;
  allocated_bytes: number;
  grown_bytes: number;
}

export interface MemoryAnswer {
  memory: Moments | null;
  allocations: Allocations[];
}

/** Parent (-1: none), name, seconds, calls. */
export type StackRow = [number, string, number, number];

export interface Rank {
  rank: number;
  world_size: number;
  backend: string;
  device: string;
  steps: number;
  step_s: number;
  computing_s: number;
  overlap_s: number;
  communicating_s: number;
  other_s: number;
}

export interface Collective {
  rank: number;
  steps: number;
  name: string;
  calls: number;
  total_s: number;
  size_bytes: number;
}

export interface RanksAnswer {
  world_size: number;
  ranks: Rank[];
  collectives: Collective[];
}

export interface Change {
  name: string;
  before_s: number;
  after_s: number;
  before_calls: number;
  after_calls: number;
}

export interface DifferenceAnswer {
  before: string;
  after: string;
  step: Change;
  parts: Change[];
  ops: Change[];
  kernels: Change[];
  on_device: boolean;
  peak_bytes: Record<string, [number, number]>;
}

/** Start, seconds, row, number of its name, kind, number of the text about it (-1: none), how many it stands for. */
export type Bar = [number, number, number, number, number, number, number];

export interface Lane {
  name: string;
  rows: number;
  bars: Bar[];
}

export interface Stretch {
  from_s: number;
  to_s: number;
  whole_s: number;
  lanes: Lane[];
  texts: string[];
  kinds: string[];
}
