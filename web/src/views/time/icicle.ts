// Where the bars of an icicle stand: a part below its whole, as wide as its share of the time.
import type { Node } from "./timing";

export interface Cell {
  /** The names on the way to it, from the root of what is shown. */
  path: string[];
  node: Node;
  depth: number;
  /** Both are shares of the width. */
  start: number;
  width: number;
}

const LEAST_WIDTH = 0.002; // what is narrower than a pixel or two is left out
const MOST_DEPTH = 24;

export function cellsOf(root: Node): Cell[] {
  const cells: Cell[] = [];
  const place = (node: Node, path: string[], depth: number, start: number, width: number) => {
    if (width < LEAST_WIDTH || depth >= MOST_DEPTH) return;
    cells.push({ path, node, depth, start, width });
    let at = start;
    for (const child of node.children) {
      const share = node.seconds > 0 ? (child.seconds / node.seconds) * width : 0;
      place(child, [...path, child.name], depth + 1, at, Math.min(share, start + width - at));
      at = Math.min(at + share, start + width);
    }
  };
  place(root, [], 0, 0, 1);
  return cells;
}

/** The part at the end of these names; as far as there are any. */
export function nodeAt(root: Node, path: readonly string[]): Node {
  return path.reduce((node, name) => node.children.find((child) => child.name === name) ?? node, root);
}
