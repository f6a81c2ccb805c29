// What /ask/model and /ask/model_health answer.
import type { DrawingData } from "../../../../torch_debugger/report/model_graph_scene.js";
import type { Finding, Num } from "../../answers";

export interface Parameter {
  name: string;
  /** Null, as is `trainable`, where a logged graph does not tell it. */
  shape: number[] | null;
  dtype: string;
  trainable: boolean | null;
}

export interface Module {
  /** With the user's name for the model in front. */
  path: string;
  class: string;
  /** With all below it. */
  parameters: number;
  own: Parameter[];
  /** Null where no forward was traced. */
  calls: number | null;
  given: number[][];
  made: number[][];
  flops: number | null;
  /** What is not in the FLOPs, and why; empty where all is. */
  missing: string;
  findings: Pick<Finding, "name" | "severity" | "message">[];
  place: { file: string; line: number | null; code: string | null } | null;
  /** Of a logged graph: those that stand directly in it, the most frequent first. */
  operations?: [string, number][];
}

export interface HealthNumber {
  key: string;
  title: string;
  says: string;
}

export interface Model {
  roots: string[];
  /** The root that is told unasked. */
  largest: string;
  root: string;
  class: string;
  /** At which a forward was traced; null where none was. */
  step: number | null;
  note: string;
  drawing: DrawingData;
  modules: Module[];
  all_modules: number;
  numbers: HealthNumber[];
  /** What `add_graph` of a SummaryWriter has written: nothing was measured of it. */
  logged?: boolean;
  operations?: number;
}

export interface NoModel {
  roots: [];
  root: null;
}

export interface Health extends HealthNumber {
  steps: number[];
  modules: string[];
  /** values[module][step] */
  values: Num[][];
}

export function shapeText(shape: number[]): string {
  return `[${shape.map((size) => (size < 0 ? "?" : size)).join(", ")}]`;
}

export function fullPath(root: string, path: string): string {
  return path ? `${root}.${path}` : root;
}
