// Where the points stand: along principal components at once, by t-SNE after a while of work in slices.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Cloud } from "./affinities";
import { tsne, type Progress } from "./tsne";

export type Way = "pca" | "tsne";

const MOST_ARRANGED = 5000; // points that t-SNE moves; more take minutes
const SLICE_MS = 25;
const SHOWN_EVERY_MS = 150; // drawing takes its time too
const KEPT = 4;

export interface Arrangement {
  /** Three coordinates for each row; the third is zero on a plane. Null while there are none yet. */
  places: Float32Array | null;
  /** The rows that have a place. */
  rows: Int32Array;
  progress: Progress | null;
  stop: () => void;
}

interface Ended {
  places: Float64Array;
}

const ended = new Map<string, Ended>();

/** `key` names the embedding: what was computed for it is kept. */
export function useArrangement(key: string, cloud: Cloud, way: Way, out: number, perplexity: number): Arrangement {
  const rows = useMemo(() => (way === "pca" ? everyRow(cloud.count) : evenRows(cloud.count, MOST_ARRANGED)), [cloud, way]);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [moved, setMoved] = useState<{ key: string; places: Float64Array } | null>(null);
  const [stopped, setStopped] = useState("");
  const whole = `${key} ${out} ${perplexity}`;
  useEffect(() => {
    setProgress(null);
    if (way !== "tsne" || cloud.count < 4) return;
    const known = ended.get(whole);
    if (known) {
      setMoved({ key: whole, places: known.places });
      return;
    }
    const some = chosen(cloud, rows);
    const work = tsne(some, firstAxes(some, out), { perplexity, out });
    return inSlices(work, (now) => {
      setProgress(now.done ? null : now);
      if (now.places) setMoved({ key: whole, places: now.places.slice() });
      if (now.done && now.places) keep(whole, { places: now.places });
    });
  }, [whole, way, cloud, stopped === whole]);
  const shown = moved?.key === whole ? moved.places : null;
  const places = useMemo(() => {
    if (way === "pca") return inSpace(firstAxes(cloud, out), out, rows, cloud.count);
    return shown ? inSpace(shown, out, rows, cloud.count) : null;
  }, [way, cloud, out, shown, rows]);
  const stop = () => {
    if (shown) keep(whole, { places: shown });
    setStopped(whole);
  };
  return { places, rows, progress: way === "tsne" ? progress : null, stop };
}

function keep(key: string, made: Ended): void {
  ended.delete(key);
  ended.set(key, made);
  for (const oldest of ended.keys()) {
    if (ended.size <= KEPT) break;
    ended.delete(oldest);
  }
}

/** Works until it is given up; between two slices the page has its turn. */
function inSlices(work: Generator<Progress, Float64Array>, tell: (now: Progress & { done: boolean }) => void): () => void {
  let waits = 0;
  let told = -Infinity;
  const slice = () => {
    const until = performance.now() + SLICE_MS;
    let last: Progress | null = null;
    while (performance.now() < until) {
      const step = work.next();
      if (step.done) {
        tell({ what: "arranging", share: 1, places: step.value, done: true });
        return;
      }
      last = step.value;
    }
    if (last && performance.now() - told > SHOWN_EVERY_MS) {
      tell({ ...last, done: false });
      told = performance.now();
    }
    waits = window.setTimeout(slice, 0);
  };
  waits = window.setTimeout(slice, 0);
  return () => clearTimeout(waits);
}

export function evenRows(count: number, most: number): Int32Array {
  return count <= most ? everyRow(count) : Int32Array.from({ length: most }, (_, at) => Math.floor((at * (count - 1)) / (most - 1)));
}

function everyRow(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, at) => at);
}

function chosen({ vectors, count, dimensions }: Cloud, rows: Int32Array): Cloud {
  if (rows.length === count) return { vectors, count, dimensions };
  const some = new Float32Array(rows.length * dimensions);
  rows.forEach((row, at) => {
    for (let axis = 0; axis < dimensions; axis++) some[at * dimensions + axis] = vectors[row * dimensions + axis]!;
  });
  return { vectors: some, count: rows.length, dimensions };
}

/** The first coordinates of each; zero where there are fewer. */
function firstAxes({ vectors, count, dimensions }: Cloud, out: number): Float64Array {
  return Float64Array.from({ length: count * out }, (_, at) => {
    const axis = at % out;
    return axis < dimensions ? vectors[Math.floor(at / out) * dimensions + axis]! : 0;
  });
}

function inSpace(places: Float64Array, out: number, rows: Int32Array, count: number): Float32Array {
  const made = new Float32Array(count * 3).fill(NaN);
  rows.forEach((row, at) => {
    for (let axis = 0; axis < 3; axis++) made[row * 3 + axis] = axis < out ? places[at * out + axis]! : 0;
  });
  return made;
}
