// Where the bars of an icicle stand: a part below its whole, as wide as its share of the time.

export interface Node {
  name: string;
  seconds: number;
  readonly children: readonly Node[];
  /** Tells it from its siblings where its name does not. */
  key?: string;
  /** What was counted, where that is no time: 12 samples. */
  amount?: string;
  /** What there is to say beside its name and its time: the code, the file. */
  about?: string;
  /** Of a library: drawn so that the user's own stands out. */
  quiet?: boolean;
}

export interface Cell {
  /** The keys on the way to it, from the root of what is shown. */
  path: string[];
  node: Node;
  depth: number;
  /** Both are shares of the width. */
  start: number;
  width: number;
}

const LEAST_WIDTH = 0.002; // what is narrower than a pixel or two is left out
const MOST_DEPTH = 24;

export function keyOf(node: Node): string {
  return node.key ?? node.name;
}

export function cellsOf(root: Node): Cell[] {
  const cells: Cell[] = [];
  const place = (node: Node, path: string[], depth: number, start: number, width: number) => {
    if (width < LEAST_WIDTH || depth >= MOST_DEPTH) return;
    cells.push({ path, node, depth, start, width });
    let at = start;
    for (const child of node.children) {
      const share = node.seconds > 0 ? (child.seconds / node.seconds) * width : 0;
      place(child, [...path, keyOf(child)], depth + 1, at, Math.min(share, start + width - at));
      at = Math.min(at + share, start + width);
    }
  };
  place(root, [], 0, 0, 1);
  return cells;
}

/** The part at the end of these keys; as far as there are any. */
export function nodeAt(root: Node, path: readonly string[]): Node {
  return path.reduce((node, key) => node.children.find((child) => keyOf(child) === key) ?? node, root);
}

/** The cell that an arrow key leads to: up to the whole, down to the largest part, sideways in the same row. */
export function neighbour(cells: readonly Cell[], at: Cell, key: string): Cell | undefined {
  const row = cells.filter((cell) => cell.depth === at.depth);
  if (key === "ArrowRight") return row[row.indexOf(at) + 1];
  if (key === "ArrowLeft") return row[row.indexOf(at) - 1];
  if (key === "ArrowUp") return cells.find((cell) => cell.depth === at.depth - 1 && isWithin(at, cell));
  if (key !== "ArrowDown") return undefined;
  const parts = cells.filter((cell) => cell.depth === at.depth + 1 && isWithin(cell, at));
  return parts.sort((one, other) => other.width - one.width)[0];
}

function isWithin(part: Cell, whole: Cell): boolean {
  return whole.path.every((key, place) => part.path[place] === key);
}
