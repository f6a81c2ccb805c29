// What the questions `samples` and `data` answer.
import type { Finding, Num } from "../../answers";

export interface Heading {
  step: number;
  role: "input" | "target";
  root: string;
  name: string;
  kind: "image" | "mask" | "series" | "tokens" | "vectors" | "values";
  shape: number[];
  dtype: string;
  low: Num;
  high: Num;
  mean: Num;
  std: Num;
  not_finite: number;
  /** The shape of what was kept: samples first, of pictures and series the channels second. */
  kept: number[];
  note: string;
  padding: number | null;
}

export interface Sample extends Heading {
  /** Of a picture: base64, one byte a pixel and channel; 0 to 254 from low to high, 255 is not finite. */
  pixels?: string;
  numbers?: Num[];
  problem?: string;
}

export interface Headings {
  steps: number[];
  tensors: Heading[];
}

export interface Batch {
  step: number;
  tensors: Sample[];
}

export interface Labels {
  loss: string;
  batches: number;
  targets: number;
  classes: number;
  counts: { label: string; name: string | null; count: number }[];
}

export interface Look {
  step: number;
  low: Num;
  high: Num;
  mean: Num;
  std: Num;
  not_finite: number | null;
  /** Of how many of the tensor's numbers these are; null: the log does not tell. */
  measured: number | null;
}

export interface Range {
  where: string;
  name: string;
  shape: number[];
  dtype: string;
  looks: Look[];
}

export interface Loader {
  names: string[];
  dataset: string;
  samples: number | null;
  batch_size: number | null;
  shuffle: boolean | null;
  workers: number;
  drop_last: boolean;
  looked_at: number;
  repeated: number;
  /** How many loaders are just like this one. */
  count: number;
}

export interface Data {
  labels: Labels[];
  /** The names of the classes, where the dataset has them. */
  classes: string[];
  ranges: Range[];
  loaders: Loader[];
  findings: Finding[];
}
