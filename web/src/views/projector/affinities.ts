// Which points are near each other, and how much each counts for the other: the first half of t-SNE.
// van der Maaten and Hinton 2008, with the sparse neighbours of van der Maaten 2014.

export interface Cloud {
  /** Row by row. */
  vectors: ArrayLike<number>;
  count: number;
  dimensions: number;
}

/** Row by row, the columns that are not zero. */
export interface Sparse {
  starts: Int32Array;
  columns: Int32Array;
  values: Float64Array;
}

export interface Neighbours {
  rows: Int32Array;
  /** Squared. */
  distances: Float64Array;
  each: number;
}

const ROWS_AT_ONCE = 50;

/** By comparing all with all; yields the share that is done. */
export function* neighboursOf({ vectors, count, dimensions }: Cloud, each: number): Generator<number, Neighbours> {
  const found: Neighbours = { rows: new Int32Array(count * each), distances: new Float64Array(count * each), each };
  const far = new Float64Array(count);
  for (let row = 0; row < count; row++) {
    if (row % ROWS_AT_ONCE === 0) yield row / count;
    for (let other = 0; other < count; other++) {
      let sum = 0;
      for (let at = 0; at < dimensions; at++) {
        const apart = vectors[row * dimensions + at]! - vectors[other * dimensions + at]!;
        sum += apart * apart;
      }
      far[other] = sum;
    }
    far[row] = Infinity;
    smallest(far, each).forEach((other, place) => {
      found.rows[row * each + place] = other;
      found.distances[row * each + place] = far[other]!;
    });
  }
  return found;
}

/** The places of the smallest values, the smallest first. */
export function smallest(values: ArrayLike<number>, most: number): number[] {
  const kept: number[] = [];
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!;
    if (Number.isNaN(value) || (kept.length === most && !(value < values[kept[most - 1]!]!))) continue;
    let low = 0;
    let high = kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[kept[middle]!]! <= value) low = middle + 1;
      else high = middle;
    }
    kept.splice(low, 0, at);
    if (kept.length > most) kept.pop();
  }
  return kept;
}

const TRIES = 60;

/** The shares of one row: falling with distance so fast that as many neighbours count as the perplexity says. */
export function sharesOf(distances: ArrayLike<number>, perplexity: number): Float64Array {
  const shares = new Float64Array(distances.length);
  const wanted = Math.log(perplexity);
  let [low, high, sharpness] = [0, Infinity, 1];
  let least = Infinity; // taken off everywhere: exp() of the nearest is 1, whatever the unit
  for (let at = 0; at < distances.length; at++) least = Math.min(least, distances[at]!);
  for (let turn = 0; turn < TRIES; turn++) {
    let [sum, weighted] = [0, 0];
    for (let at = 0; at < distances.length; at++) {
      const far = distances[at]! - least;
      const share = Math.exp(-far * sharpness);
      shares[at] = share;
      sum += share;
      weighted += far * share;
    }
    for (let at = 0; at < shares.length; at++) shares[at]! /= sum;
    const entropy = Math.log(sum) + (sharpness * weighted) / sum;
    if (Math.abs(entropy - wanted) < 1e-6) break;
    if (entropy > wanted) low = sharpness;
    else high = sharpness;
    sharpness = high === Infinity ? sharpness * 2 : (low + high) / 2;
  }
  return shares;
}

/** Both ways the same, and one in sum. */
export function symmetric({ rows, each }: Neighbours, shares: ArrayLike<number>, count: number): Sparse {
  const lists: Map<number, number>[] = Array.from({ length: count }, () => new Map());
  for (let row = 0; row < count; row++) {
    for (let place = row * each; place < (row + 1) * each; place++) {
      const other = rows[place]!;
      const half = shares[place]! / (2 * count);
      lists[row]!.set(other, (lists[row]!.get(other) ?? 0) + half);
      lists[other]!.set(row, (lists[other]!.get(row) ?? 0) + half);
    }
  }
  const starts = new Int32Array(count + 1);
  lists.forEach((list, row) => (starts[row + 1] = starts[row]! + list.size));
  const columns = new Int32Array(starts[count]!);
  const values = new Float64Array(starts[count]!);
  lists.forEach((list, row) => {
    let at = starts[row]!;
    for (const [other, value] of list) {
      columns[at] = other;
      values[at++] = value;
    }
  });
  return { starts, columns, values };
}
