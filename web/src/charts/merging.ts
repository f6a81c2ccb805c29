// uPlot wants one x for all its series. Lines of several runs have their own: they are merged into one ascending x,
// where `undefined` says that a line has no point there, and `null` that it breaks.
import type { Points } from "./lines";

export type Column = (number | null | undefined)[];

/** One column of x, then one for each of `lines`, in their order. Points that `keep` refuses break the line. */
export function mergeLines(lines: Points[], keep: (x: number, y: number) => boolean = bothFinite): [number[], ...Column[]] {
  const heads = lines.map(() => 0);
  const xs: number[] = [];
  const columns: Column[] = lines.map(() => []);
  for (;;) {
    const x = nextX(lines, heads);
    if (x === null) return [xs, ...columns];
    lines.forEach((line, place) => {
      const head = heads[place]!;
      const here = head < line.x.length && line.x[head] === x;
      if (here) heads[place] = head + 1;
      columns[place]!.push(here ? (keep(x, line.y[head]!) ? line.y[head] : null) : undefined);
    });
    xs.push(x);
  }
}

function nextX(lines: Points[], heads: number[]): number | null {
  let least: number | null = null;
  for (let place = 0; place < lines.length; place++) {
    const x = lines[place]!.x[heads[place]!];
    if (x !== undefined && (least === null || x < least)) least = x;
  }
  return least;
}

function bothFinite(_x: number, y: number): boolean {
  return Number.isFinite(y);
}

/** The place of the point nearest to x, or -1. */
export function nearest(xs: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle]! < x) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return xs.length ? 0 : -1;
  return low === xs.length || x - xs[low - 1]! <= xs[low]! - x ? low - 1 : low;
}
