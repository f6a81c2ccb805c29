// t-SNE in slices: a generator that gives way often, so that the page stays alive. No worker: a report in one file may
// start none under its Content-Security-Policy.
import { neighboursOf, sharesOf, symmetric, type Cloud, type Sparse } from "./affinities";
import { Tree } from "./tree";

export interface Progress {
  what: "neighbours" | "arranging";
  /** Of all the work. */
  share: number;
  /** Null before the first arrangement. */
  places: Float64Array | null;
}

export interface TsneOptions {
  perplexity: number;
  /** 2 or 3. */
  out: number;
  iterations?: number;
  theta?: number;
}

const ITERATIONS = 750;
const EXAGGERATED = 250;
const EXAGGERATION = 12;
const SHARE_OF_NEIGHBOURS = 0.15;
const THETA = 0.7; // half the work of 0.5, and no difference that could be seen
const ROWS_AT_ONCE = 200;

/** `start` has the first places, `out` for each point, in any unit: the principal components. */
export function* tsne(cloud: Cloud, start: ArrayLike<number>, options: TsneOptions): Generator<Progress, Float64Array> {
  const { count } = cloud;
  const perplexity = Math.max(1, Math.min(options.perplexity, (count - 1) / 3));
  const searching = neighboursOf(cloud, Math.min(count - 1, Math.floor(3 * perplexity) + 1));
  let step = searching.next();
  for (; !step.done; step = searching.next()) yield { what: "neighbours", share: step.value * SHARE_OF_NEIGHBOURS, places: null };
  const near = step.value;
  const shares = new Float64Array(near.rows.length);
  for (let row = 0; row < count; row++) {
    if (row % ROWS_AT_ONCE === 0) yield { what: "neighbours", share: SHARE_OF_NEIGHBOURS, places: null };
    shares.set(sharesOf(near.distances.subarray(row * near.each, (row + 1) * near.each), perplexity), row * near.each);
  }
  const moving = new Moving(symmetric(near, shares, count), scaled(start, options.out), count, options.out, options.theta ?? THETA);
  const all = options.iterations ?? ITERATIONS;
  for (let turn = 0; turn < all; turn++) {
    moving.turn(turn < EXAGGERATED ? EXAGGERATION : 1, turn < EXAGGERATED ? 0.5 : 0.8);
    yield { what: "arranging", share: SHARE_OF_NEIGHBOURS + ((1 - SHARE_OF_NEIGHBOURS) * (turn + 1)) / all, places: moving.places };
  }
  return moving.places;
}

const FIRST_SPREAD = 1e-4;

/** Small at first, so that neighbours find each other before groups have formed. */
function scaled(start: ArrayLike<number>, out: number): Float64Array {
  let squares = 0;
  for (let at = 0; at < start.length; at += out) squares += start[at]! ** 2;
  const spread = Math.sqrt((squares * out) / start.length) || 1;
  return Float64Array.from(start, (value) => (value / spread) * FIRST_SPREAD);
}

export class Moving {
  private readonly speed: Float64Array;
  private readonly gains: Float64Array;
  private readonly tree: Tree;
  private readonly rate: number;

  constructor(
    private readonly near: Sparse,
    readonly places: Float64Array,
    private readonly count: number,
    private readonly out: number,
    private readonly theta: number,
  ) {
    this.speed = new Float64Array(places.length);
    this.gains = new Float64Array(places.length).fill(1);
    this.tree = new Tree(count, out);
    this.rate = Math.max(count / EXAGGERATION / 4, 50);
  }

  turn(exaggeration: number, momentum: number): void {
    const slope = this.slope(exaggeration);
    for (let at = 0; at < slope.length; at++) {
      const same = slope[at]! > 0 === this.speed[at]! > 0;
      this.gains[at] = Math.max(0.01, same ? this.gains[at]! * 0.8 : this.gains[at]! + 0.2);
      this.speed[at] = momentum * this.speed[at]! - this.rate * this.gains[at]! * slope[at]!;
      this.places[at]! += this.speed[at]!;
    }
    this.centre();
  }

  /** Of the divergence between the two kinds of nearness, for each coordinate. */
  slope(exaggeration: number): Float64Array {
    const { count, out, places, near } = this;
    const pushes = new Float64Array(places.length);
    this.tree.build(places);
    let sum = -count; // each point counts itself once
    for (let point = 0; point < count; point++) sum += this.tree.push(places, point, pushes, this.theta);
    const slope = new Float64Array(places.length);
    for (let point = 0; point < count; point++) {
      for (let place = near.starts[point]!; place < near.starts[point + 1]!; place++) {
        const other = near.columns[place]!;
        let far = 1;
        for (let axis = 0; axis < out; axis++) far += (places[point * out + axis]! - places[other * out + axis]!) ** 2;
        const pull = (exaggeration * near.values[place]!) / far;
        for (let axis = 0; axis < out; axis++) slope[point * out + axis]! += pull * (places[point * out + axis]! - places[other * out + axis]!);
      }
    }
    for (let at = 0; at < slope.length; at++) slope[at] = 4 * (slope[at]! - pushes[at]! / Math.max(sum, 1e-300));
    return slope;
  }

  private centre(): void {
    for (let axis = 0; axis < this.out; axis++) {
      let sum = 0;
      for (let at = axis; at < this.places.length; at += this.out) sum += this.places[at]!;
      for (let at = axis; at < this.places.length; at += this.out) this.places[at]! -= sum / this.count;
    }
  }
}
