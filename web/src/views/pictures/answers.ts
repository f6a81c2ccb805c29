// What the question `media` answers.
export type Kind = "pictures" | "texts" | "sounds" | "histograms";

export interface Tag {
  kind: Kind;
  /** As it was logged: what is asked for. */
  tag: string;
  /** As it is shown. */
  name: string;
  all_steps: number;
  /** Evenly chosen where there are very many. */
  steps: number[];
}

export interface Media {
  all: number;
  found: number;
  tags: Tag[];
}

/** One thing of an event: a text, or what the bytes of a picture or sound are. */
export interface Item {
  index?: number;
  bytes?: number;
  kind?: string;
  width?: number;
  height?: number;
  problem?: string;
  text?: string;
  characters?: number;
}

export interface Event {
  kind: Kind;
  tag: string;
  step: number;
  items: Item[];
}

export interface Heat {
  tag: string;
  all_steps: number;
  steps: number[];
  edges: number[];
  /** [step][row] */
  shares: number[][];
  counts: number[];
}
