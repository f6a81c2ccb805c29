// The forms of what model_graph_scene.js takes and gives; model_graph_data.py makes it.

export interface Part {
  key: string;
  kind: "module" | "operation" | "input" | "output" | "repeat" | "piece";
  /** Of a module, from the model on; of others, of the module that they are in. */
  path: string;
  name: string;
  beside: string;
  below: string;
  full: string;
  opens: boolean;
  stacked: boolean;
}

export interface Group {
  title: number;
  parts: Part[];
  closed: unknown;
  opened?: string[];
  open?: unknown;
}

export interface DrawingData {
  pad: number;
  head: number;
  tip: number;
  /** The parts that are open at first. */
  opened: string[];
  /** By the key of a part that opens; the model itself has an empty one. */
  groups: Record<string, Group>;
}

export interface Box {
  part: Part;
  x: number;
  y: number;
  width: number;
  height: number;
  depth: number;
}

export interface Line {
  points: [number, number, number][];
  arrow: boolean;
  told: string;
}

export interface Scene {
  width: number;
  height: number;
  frames: Box[];
  boxes: Box[];
  words: { text: string; x: number; y: number }[];
  lines: Line[];
}

export function composed(data: DrawingData, open: ReadonlySet<string>): Scene;
export function pathOf(line: Line): string;
