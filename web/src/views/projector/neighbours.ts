// The nearest neighbours of a point among all that are shown.
import { smallest, type Cloud } from "./affinities";

export type Measure = "euclidean" | "cosine";
export type Neighbour = [row: number, distance: number];

/** `centre` was taken off all vectors: angles are measured from the place where it was not. */
export function nearest({ vectors, count, dimensions }: Cloud, centre: ArrayLike<number>, point: number, by: Measure, most: number): Neighbour[] {
  const far = new Float64Array(count);
  const shift = by === "cosine" ? centre : null;
  const own = lengthOf(vectors, point, dimensions, shift);
  for (let row = 0; row < count; row++) {
    let sum = 0;
    for (let at = 0; at < dimensions; at++) {
      const one = vectors[point * dimensions + at]!;
      const other = vectors[row * dimensions + at]!;
      sum += shift ? (one + shift[at]!) * (other + shift[at]!) : (one - other) ** 2;
    }
    if (!shift) far[row] = Math.sqrt(sum);
    else {
      const product = own * lengthOf(vectors, row, dimensions, shift);
      far[row] = product > 0 ? 1 - sum / product : 1; // at zero there is no direction: as far as a right angle
    }
  }
  far[point] = Infinity;
  return smallest(far, Math.min(most, count - 1)).map((row) => [row, far[row]!]);
}

function lengthOf(vectors: ArrayLike<number>, row: number, dimensions: number, shift: ArrayLike<number> | null): number {
  let sum = 0;
  for (let at = 0; at < dimensions; at++) sum += (vectors[row * dimensions + at]! + (shift?.[at] ?? 0)) ** 2;
  return Math.sqrt(sum);
}
