// What the server's questions answer, as far as more than one view uses it. A view's own answers have their types
// beside the view.

/** A number as JSON has it: NaN and the infinities are words, null was not measured. */
export type Num = number | "nan" | "inf" | "-inf" | null;

export interface Where {
  module?: string | null;
  file?: string | null;
  line?: number | null;
}

export interface Finding {
  check: string;
  name: string;
  severity: "error" | "warning" | "note";
  status: string;
  confidence: number;
  message: string;
  why: string;
  fix: string;
  where: Where;
  first_step: number | null;
  last_step: number | null;
  evidence: Record<string, Num | string>;
  symptom_of?: number | null;
}

export interface NotShownKind {
  /** What a reader calls one of them. */
  kind: string;
  count: number;
  /** The first of their tags. */
  tags: string[];
}

/** /ask/about?run=NAME: what a view needs to know before it asks for anything. */
export interface About {
  run: string;
  status: "starting" | "finished" | "crashed" | "stopped" | "running" | "killed" | "unknown";
  /** signal 9 (SIGKILL) */
  ended_by: string | null;
  watched: boolean;
  steps: number;
  script: string | null;
  started: number | null;
  duration_s: number | null;
  loss_tag: string | null;
  /** How many tags of each kind: scalars, histograms, pictures, texts, sounds. */
  tags: Record<string, number>;
  /** What there is to show, by view: layers, model, data, pictures, time, memory, ranks. */
  has: Record<string, boolean>;
  ranks: number;
  /** How many runs the page can show; missing in the report, which shows one. */
  runs?: number;
  damage: string[];
  /** What the log holds and no view shows; missing in older reports. */
  not_shown?: NotShownKind[];
  /** What the reader has called it; missing in the report. */
  given_name?: string | null;
}

/** /ask/pulse?run=NAME: changes whenever something was written. Cheap: no log is read for it. */
export interface PollAnswer {
  version: string;
  growing: boolean;
  /** How much of the log has been read, while somebody waits for that. */
  read_share?: number;
}

/** /ask/session: once, at the start. */
export interface Session {
  runs: number;
  /** Files of Python's own profilers that are shown instead of runs; missing in older reports. */
  profiles?: string[];
  /** How many traces of torch.profiler are shown beside the runs; missing in reports. */
  traces?: number;
  edit_token: string;
  version: string;
}

export function toNumber(value: Num | undefined): number {
  if (value === "nan" || value === null || value === undefined) return NaN;
  if (value === "inf") return Infinity;
  return value === "-inf" ? -Infinity : value;
}
