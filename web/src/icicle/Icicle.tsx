import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "../pieces/Button";
import { duration, percent } from "../pieces/numbers";
import { cellsOf, neighbour, nodeAt, type Cell, type Node } from "./cells";
import "./icicle.css";

const ROW_REM = 1.75;

/** A whole and its parts below it, as wide as their time. A press on one makes it the whole, Escape goes back; one bar
 *  takes part in the order of the tab key, and arrows lead to the others. Upwards, the whole is at the bottom: a flame graph. */
export function Icicle({ root, label, upwards = false }: { root: Node; label: string; upwards?: boolean }) {
  const [path, setPath] = useState<readonly string[]>([]);
  const [at, setAt] = useState(""); // the bar that has the focus, or would get it
  const [told, setTold] = useState<string | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const moved = useRef(false); // by the keyboard: the focus follows
  const whole = nodeAt(root, path);
  const cells = cellsOf(whole);
  const depth = Math.max(...cells.map((cell) => cell.depth));
  const current = cells.find((cell) => idOf(cell) === at) ?? cells[0];
  const open = (to: readonly string[]) => {
    setPath(to);
    setAt("");
    setTold(null);
    moved.current = place.current?.contains(document.activeElement) ?? false;
  };
  const press = (event: KeyboardEvent) => {
    const next = current && neighbour(cells, current, upwards ? turned(event.key) : event.key);
    if (next) {
      setAt(idOf(next));
      moved.current = true;
    } else if (event.key === "Escape" && path.length) open(path.slice(0, -1));
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  };
  useLayoutEffect(() => {
    if (moved.current) place.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus();
    moved.current = false;
  }, [at, path]);
  return (
    <div>
      {path.length ? <Button onClick={() => open(path.slice(0, -1))}>Back to {nodeAt(root, path.slice(0, -1)).name}</Button> : null}
      <div class="icicle" ref={place} role="group" aria-label={label} style={{ height: `${(depth + 1) * ROW_REM}rem` }} onKeyDown={press} onMouseLeave={() => setTold(null)}>
        {cells.map((cell) => (
          <Bar key={`${idOf(cell)} ${cell.start}`} cell={cell} row={upwards ? depth - cell.depth : cell.depth} words={wordsOf(cell.node, whole)} reached={cell === current} onOpen={() => open(cell.depth ? [...path, ...cell.path] : path.slice(0, -1))} onTold={setTold} onFocus={() => setAt(idOf(cell))} />
        ))}
      </div>
      <p class="icicle-told" aria-hidden="true">
        {told ?? "Point at a bar to read what it is. Press it to see it alone."}
      </p>
    </div>
  );
}

function turned(key: string): string {
  return key === "ArrowUp" ? "ArrowDown" : key === "ArrowDown" ? "ArrowUp" : key;
}

interface BarProps {
  cell: Cell;
  /** Counted from the top. */
  row: number;
  words: string;
  reached: boolean;
  onOpen: () => void;
  onTold: (words: string) => void;
  onFocus: () => void;
}

function Bar({ cell, row, words, reached, onOpen, onTold, onFocus }: BarProps) {
  const { node, depth, start, width } = cell;
  const place = { left: `${start * 100}%`, width: `${width * 100}%`, top: `${row * ROW_REM}rem`, borderTopColor: node.quiet ? "var(--line)" : `var(--chart-${(depth % 8) + 1})` };
  const focused = () => {
    onTold(words);
    onFocus();
  };
  return (
    <button
      type="button"
      class={node.quiet ? "icicle-cell icicle-quiet" : "icicle-cell"}
      title={words}
      aria-label={words}
      aria-disabled={node.children.length ? undefined : true}
      tabIndex={reached ? 0 : -1}
      style={place}
      onClick={() => (node.children.length ? onOpen() : undefined)}
      onMouseEnter={() => onTold(words)}
      onFocus={focused}
    >
      {node.name}
    </button>
  );
}

function wordsOf(node: Node, whole: Node): string {
  const share = whole.seconds > 0 ? `, ${percent(node.seconds / whole.seconds)} of ${whole.name}` : "";
  return `${node.name.replace(/:$/, "")}: ${node.amount ?? duration(node.seconds)}${share}${node.about ? `. ${node.about}` : ""}`;
}

function idOf(cell: Cell): string {
  return cell.path.join("\n");
}
