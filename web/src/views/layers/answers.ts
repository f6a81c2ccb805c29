// What the questions of this view answer.
import type { Finding, Num } from "../../answers";
import type { HeatRange } from "../../charts/heat_scale";

export interface LayerNumber {
  key: string;
  title: string;
  unit: string;
  says: string;
  models: string[];
}

/** /ask/layers without a number. */
export interface Choices {
  /** The part of the run's time that watching it may take; null: not known. */
  budget: number | null;
  models: string[];
  numbers: LayerNumber[];
}

export interface LayerMark {
  layer: number;
  severity: Finding["severity"];
  names: string[];
}

/** /ask/layers with a number; rows from `top` on. */
export interface Grid {
  number: string;
  layers: string[];
  steps: number[];
  top: number;
  values: Num[][];
  range: HeatRange | null;
  /** How many steps there are in the range; those not among `steps` were left out. */
  looks: number;
  /** The same for the whole run. */
  measured: number;
  span: [number, number] | null;
  stands_out: string[];
  marks: LayerMark[];
}

export interface LayerCurve {
  key: string;
  title: string;
  unit: string;
  scale: "log" | "share" | "signed" | "bits";
  says: string;
  steps: number[];
  values: Num[];
}

export interface LedgerRow {
  name: string;
  shape: number[];
  dtype: string;
  device: string;
  trainable: boolean;
  weight_norm?: Num;
  grad_norm?: Num;
  looked_at?: number;
  ratio?: Num;
  compared_at?: number;
  changed_at?: number;
  optimizer?: string;
  optimizer_kind?: string;
  groups?: number;
  group?: number;
  lr?: Num;
  gradient?: "none" | "zero" | "nonzero" | "notfinite";
}

export interface SpreadSource {
  of: string;
  name: string;
  title: string;
}

/** /ask/layer */
export interface Layer {
  layer: string;
  kind: string | null;
  place: { file: string; line: number | null; code: string | null } | null;
  settings: Record<string, Num>;
  curves: LayerCurve[];
  parameters: LedgerRow[];
  findings: Finding[];
  spreads: SpreadSource[];
}

/** /ask/spreads: without a look there are no edges. */
export interface Spread {
  of: string;
  name: string;
  steps: number[];
  edges?: number[];
  parts?: number[][];
  outside?: number[];
  not_finite?: number[];
}
