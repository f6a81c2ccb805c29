import { describe, expect, it } from "vitest";
import { neighboursOf, sharesOf, smallest, symmetric, type Cloud } from "./affinities";
import { nearest } from "./neighbours";
import { Moving, tsne } from "./tsne";

/** The same numbers every time. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Three groups in ten dimensions, one point after the other of each. */
function groups(count: number, apart = 8): Cloud {
  const next = random(1);
  const vectors = Float64Array.from({ length: count * 10 }, (_, at) => (next() + next() + next() - 1.5) * 2 + (at % 10 === Math.floor(at / 10) % 3 ? apart : 0));
  return { vectors, count, dimensions: 10 };
}

function ended<Yielded, Made>(work: Generator<Yielded, Made>): Made {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

function nearOf(cloud: Cloud, perplexity: number) {
  const found = ended(neighboursOf(cloud, Math.floor(3 * perplexity) + 1));
  const shares = new Float64Array(found.rows.length);
  for (let row = 0; row < cloud.count; row++) shares.set(sharesOf(found.distances.subarray(row * found.each, (row + 1) * found.each), perplexity), row * found.each);
  return symmetric(found, shares, cloud.count);
}

describe("affinities", () => {
  it("find the smallest, in order", () => {
    expect(smallest([5, 3, 9, 1, 3], 3)).toEqual([3, 1, 4]);
    expect(smallest([NaN, Infinity, 2], 1)).toEqual([2]);
  });
  it("let as many neighbours count as the perplexity says, in whatever unit", () => {
    const next = random(3);
    for (const unit of [1e-8, 1, 1e12]) {
      const distances = Float64Array.from({ length: 60 }, () => unit * (1 + next()));
      const shares = sharesOf(distances, 12);
      const entropy = -shares.reduce((sum, share) => sum + (share > 0 ? share * Math.log(share) : 0), 0);
      expect(Math.exp(entropy)).toBeCloseTo(12, 3);
    }
  });
  it("are the same both ways, and one in sum", () => {
    const near = nearOf(groups(60), 5);
    const all = new Map<string, number>();
    for (let row = 0; row < 60; row++) for (let at = near.starts[row]!; at < near.starts[row + 1]!; at++) all.set(`${row} ${near.columns[at]}`, near.values[at]!);
    for (const [key, value] of all) expect(all.get(key.split(" ").reverse().join(" "))).toBeCloseTo(value, 15);
    expect([...all.values()].reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 9);
  });
});

describe("the slope", () => {
  const count = 80;
  const near = nearOf(groups(count), 8);
  const next = random(5);
  for (const out of [2, 3]) {
    const places = Float64Array.from({ length: count * out }, () => next() * 6);
    const exact = plainSlope(places, near, count, out);
    it(`is that of the plain sums without shortcuts, in ${out} dimensions`, () => {
      const found = new Moving(near, places.slice(), count, out, 0).slope(1);
      found.forEach((value, at) => expect(value).toBeCloseTo(exact[at]!, 10));
    });
    it(`is nearly that with them, in ${out} dimensions`, () => {
      const found = new Moving(near, places.slice(), count, out, 0.5).slope(1);
      const off = Math.hypot(...found.map((value, at) => value - exact[at]!)) / Math.hypot(...exact);
      expect(off).toBeGreaterThan(0);
      expect(off).toBeLessThan(0.03);
    });
  }
  it("is finite where all points are one", () => {
    const slope = new Moving(near, new Float64Array(count * 2), count, 2, 0.5).slope(1);
    expect(slope.every((value) => value === 0)).toBe(true);
  });
});

/** The textbook's formula: 4 sum_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2). */
function plainSlope(places: Float64Array, near: ReturnType<typeof nearOf>, count: number, out: number): number[] {
  const axes = [...Array(out).keys()];
  const weight = (one: number, other: number) => 1 / (1 + axes.reduce((sum, axis) => sum + (places[one * out + axis]! - places[other * out + axis]!) ** 2, 0));
  const rows = [...Array(count).keys()];
  const sum = rows.reduce((all, one) => all + rows.reduce((part, other) => part + (one === other ? 0 : weight(one, other)), 0), 0);
  const share = (one: number, other: number) => {
    for (let at = near.starts[one]!; at < near.starts[one + 1]!; at++) if (near.columns[at] === other) return near.values[at]!;
    return 0;
  };
  return rows.flatMap((one) =>
    axes.map((axis) => rows.reduce((all, other) => (one === other ? all : all + 4 * (share(one, other) - weight(one, other) / sum) * weight(one, other) * (places[one * out + axis]! - places[other * out + axis]!)), 0)),
  );
}

describe("t-SNE", () => {
  for (const out of [2, 3]) {
    it(`brings groups apart and keeps neighbours together, in ${out} dimensions`, () => {
      const cloud = groups(150, 6);
      const start = Float64Array.from({ length: 150 * out }, (_, at) => Number(cloud.vectors[Math.floor(at / out) * 10 + (at % out)]));
      let last = -1;
      const work = tsne(cloud, start, { perplexity: 15, out, iterations: 400 });
      let step = work.next();
      for (; !step.done; step = work.next()) {
        expect(step.value.share).toBeGreaterThanOrEqual(last);
        last = step.value.share;
      }
      expect(last).toBe(1);
      const flat = { vectors: step.value, count: 150, dimensions: out };
      const alike = [...Array(150).keys()].filter((row) => nearest(flat, [], row, "euclidean", 1)[0]![0] % 3 === row % 3);
      expect(alike.length).toBeGreaterThan(147);
    });
  }
  it("copes with few points, and with points that are all the same", () => {
    for (const vectors of [[0, 0, 1, 1, 2, 2, 9, 9], Array(8).fill(3)] as number[][]) {
      const made = ended(tsne({ vectors, count: 4, dimensions: 2 }, vectors, { perplexity: 30, out: 2, iterations: 300 }));
      expect(made.every(Number.isFinite)).toBe(true);
    }
  });
});

describe("neighbours", () => {
  // numpy: points = [[1, 0], [2, 0.1], [0, 3], [-1, 0], [0, 0]]; their mean is [0.4, 0.62]
  const points = [1, 0, 2, 0.1, 0, 3, -1, 0, 0, 0];
  const centre = [0.4, 0.62];
  const cloud = { vectors: points.map((value, at) => value - centre[at % 2]!), count: 5, dimensions: 2 };
  it("are nearest by distance", () => {
    const found = nearest(cloud, centre, 0, "euclidean", 3);
    expect(found.map(([row]) => row)).toEqual([4, 1, 3]);
    expect(found[1]![1]).toBeCloseTo(Math.hypot(1, 0.1), 9);
  });
  it("are nearest by angle, as seen from where zero was", () => {
    const found = nearest(cloud, centre, 0, "cosine", 9);
    expect(found.map(([row]) => row)).toEqual([1, 2, 4, 3]);
    expect(found[0]![1]).toBeCloseTo(1 - 2 / Math.hypot(2, 0.1), 9);
    expect(found.map(([, far]) => Math.round(far * 100) / 100)).toEqual([0, 1, 1, 2]);
  });
});
