// What the questions `embeddings` and `neighbours` answer.
import { bytesOf } from "../../charts/packed";
import type { Cloud } from "./affinities";

export interface EmbeddingTag {
  tag: string;
  steps: number[];
  all_steps: number;
}

export interface Embeddings {
  embeddings: EmbeddingTag[];
  /** Why projector_config.pbtxt cannot be read; empty where it can. */
  fault: string;
}

/** One label for each point: `labels` are the different ones, `of` which of them each point has. */
export interface LabelColumn {
  name: string;
  labels: string[];
  of: number[];
}

export interface Sprite {
  /** Of one picture. */
  width: number;
  height: number;
  /** Pictures in a row. */
  columns: number;
}

export interface Embedding {
  tag: string;
  step: number;
  all_points: number;
  points: number;
  /** Which of all points are shown; null where all are. */
  places: number[] | null;
  dimensions: number;
  /** How many principal components the vectors have. */
  kept: number;
  /** Of the variance, for each of them. */
  shares: number[];
  /** Nothing is left in other dimensions: distances are exact. */
  whole: boolean;
  centre: string;
  vectors: string;
  columns: LabelColumn[];
  sprite: Sprite | null;
  remarks: string[];
}

export interface Neighbours {
  neighbours: [number, number][];
}

export function cloudOf(embedding: Embedding): Cloud {
  return { vectors: new Float32Array(bytesOf(embedding.vectors)), count: embedding.points, dimensions: embedding.kept };
}

export function centreOf(embedding: Embedding): Float32Array {
  return new Float32Array(bytesOf(embedding.centre));
}

/** Differs where the numbers do: what was computed from others is not taken for these. */
export function fingerprint(embedding: Embedding): string {
  return `${embedding.points} ${embedding.vectors.length} ${embedding.vectors.slice(0, 64)}`;
}

/** What a point is called: its labels, else its number among all. */
export function nameOf(embedding: Embedding, row: number, column = 0): string {
  const found = embedding.columns[column];
  const label = found?.labels[found.of[row] ?? -1];
  return label || `point ${placeOf(embedding, row).toLocaleString("en-US")}`;
}

export function placeOf(embedding: Embedding, row: number): number {
  return embedding.places?.[row] ?? row;
}

export function columnTitle(column: LabelColumn, at: number, all: number): string {
  return column.name || (all === 1 ? "label" : `column ${at + 1}`);
}
