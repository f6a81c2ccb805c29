// How something in space is looked at: turned by a matrix, moved and scaled on the screen.

/** Rows of the screen's axes: right, up, towards the reader. */
export type Matrix = readonly [number, number, number, number, number, number, number, number, number];

export interface Sight {
  turn: Matrix;
  /** 1: all of it just fits. */
  scale: number;
  /** How far it is moved, in pixels. */
  x: number;
  y: number;
}

export const UPRIGHT: Matrix = [1, 0, 0, 0, 1, 0, 0, 0, 1];

const LEAST = 0.2;
const MOST = 50;

/** From a little above and aside, so that depth can be seen. */
export function first(): Sight {
  return { turn: turned(UPRIGHT, -0.6, 0.45), scale: 1, x: 0, y: 0 };
}

export function flat(): Sight {
  return { turn: UPRIGHT, scale: 1, x: 0, y: 0 };
}

/** Turned further about the screen's own axes: to the right and downwards, in radians. */
export function turned(matrix: Matrix, right: number, down: number): Matrix {
  const [cr, sr, cd, sd] = [Math.cos(right), Math.sin(right), Math.cos(down), Math.sin(down)];
  const about: Matrix = [cr, 0, sr, sd * sr, cd, -sd * cr, -cd * sr, sd, cd * cr];
  return product(about, matrix);
}

export function product(one: Matrix, other: Matrix): Matrix {
  const made = [0, 1, 2].flatMap((row) => [0, 1, 2].map((column) => [0, 1, 2].reduce((sum, at) => sum + one[row * 3 + at]! * other[at * 3 + column]!, 0)));
  return made as unknown as Matrix;
}

/** What is under (x, y), measured from the middle, stays there. */
export function nearer(sight: Sight, by: number, x = 0, y = 0): Sight {
  const scale = Math.min(MOST, Math.max(LEAST, sight.scale * by));
  const grown = scale / sight.scale;
  return { ...sight, scale, x: x - (x - sight.x) * grown, y: y - (y - sight.y) * grown };
}

export interface Extent {
  middle: [number, number, number];
  /** Of a ball around the middle that holds everything. */
  radius: number;
}

/** Of points with three coordinates each; those that are not finite do not count. */
export function extentOf(points: ArrayLike<number>): Extent {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let at = 0; at + 2 < points.length; at += 3) {
    if (!Number.isFinite(points[at]! + points[at + 1]! + points[at + 2]!)) continue;
    for (let axis = 0; axis < 3; axis++) {
      low[axis] = Math.min(low[axis]!, points[at + axis]!);
      high[axis] = Math.max(high[axis]!, points[at + axis]!);
    }
  }
  if (low[0]! > high[0]!) return { middle: [0, 0, 0], radius: 1 };
  const middle = [0, 1, 2].map((axis) => (low[axis]! + high[axis]!) / 2) as [number, number, number];
  let radius = 0;
  for (let at = 0; at + 2 < points.length; at += 3) {
    const far = Math.hypot(points[at]! - middle[0], points[at + 1]! - middle[1], points[at + 2]! - middle[2]);
    if (Number.isFinite(far)) radius = Math.max(radius, far);
  }
  return { middle, radius: radius || 1 };
}

const EYE = 4; // how many radii away

/** Into `made`: x and y in pixels and, third, how near each point is: from -1 to 1. */
export function project(points: ArrayLike<number>, extent: Extent, sight: Sight, width: number, height: number, made: Float32Array): void {
  const [a, b, c, d, e, f, g, h, i] = sight.turn;
  const [mx, my, mz] = extent.middle;
  const unit = 1 / extent.radius;
  const size = (Math.min(width, height) / 2) * 0.92 * sight.scale;
  for (let at = 0; at + 2 < points.length; at += 3) {
    const x = (points[at]! - mx) * unit;
    const y = (points[at + 1]! - my) * unit;
    const z = (points[at + 2]! - mz) * unit;
    const near = g * x + h * y + i * z;
    const grown = (size * EYE) / (EYE - near);
    made[at] = width / 2 + sight.x + (a * x + b * y + c * z) * grown;
    made[at + 1] = height / 2 + sight.y - (d * x + e * y + f * z) * grown;
    made[at + 2] = near;
  }
}
