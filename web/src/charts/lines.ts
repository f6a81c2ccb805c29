// What a chart draws.

export interface Points {
  /** Ascending; a value may come twice. */
  x: ArrayLike<number>;
  /** NaN and the infinities are drawn as marks, and break the line. */
  y: ArrayLike<number>;
}

export interface Line extends Points {
  name: string;
  /** A place in the palette, or the name of a colour variable such as --accent. Without it: the line's own place. */
  colour?: number | string;
  /** Measured only now and then: dots count, and the joins between them are thin and dashed. */
  sparse?: boolean;
  /** Drawn faintly behind the line: what it was before it was smoothed. */
  raw?: Points;
  /** A band around the line, point by point: mean - std and mean + std. */
  low?: ArrayLike<number>;
  high?: ArrayLike<number>;
  /** How many of the whole range are not finite, where the points are only some of them. */
  counts?: NotFiniteCounts;
}

export interface NotFiniteCounts {
  nan: number;
  inf: number;
  "-inf": number;
}

/** A step worth pointing at: a vertical line with a word. */
export interface Mark {
  x: number;
  label: string;
  /** The name of a colour variable: --error, --warning, --note, --quiet. */
  colour?: string;
}

export interface XAxis {
  name: string;
  /** A plain number, seconds since the start, or seconds since 1970. */
  kind: "number" | "duration" | "clock";
}

export type Range = readonly [number, number];
