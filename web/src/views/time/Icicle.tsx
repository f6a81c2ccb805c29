import { useState } from "preact/hooks";
import { Button } from "../../pieces/Button";
import { duration, percent } from "../../pieces/numbers";
import { cellsOf, nodeAt, type Cell } from "./icicle";
import { colourOf } from "./Split";
import type { Node } from "./timing";

const ROW_REM = 1.75;

/** A whole and its parts below it, as wide as their time; a press on one makes it the whole. */
export function Icicle({ root, label }: { root: Node; label: string }) {
  const [path, setPath] = useState<readonly string[]>([]);
  const whole = nodeAt(root, path);
  const cells = cellsOf(whole);
  const depth = Math.max(...cells.map((cell) => cell.depth));
  return (
    <div>
      {path.length ? <Button onClick={() => setPath(path.slice(0, -1))}>Back to {path[path.length - 2] ?? root.name}</Button> : null}
      <div class="time-icicle" role="group" aria-label={label} style={{ height: `${(depth + 1) * ROW_REM}rem` }}>
        {cells.map((cell) => (
          <Bar key={`${cell.path.join("\n")} ${cell.start}`} cell={cell} of={whole} onOpen={() => setPath([...path, ...cell.path])} />
        ))}
      </div>
    </div>
  );
}

function Bar({ cell, of, onOpen }: { cell: Cell; of: Node; onOpen: () => void }) {
  const { node, depth, start, width } = cell;
  const words = `${node.name}: ${duration(node.seconds)}, ${percent(of.seconds > 0 ? node.seconds / of.seconds : null)} of ${of.name}`;
  const place = { left: `${start * 100}%`, width: `${width * 100}%`, top: `${depth * ROW_REM}rem`, borderTopColor: colourOf(depth) };
  return (
    <button type="button" class="time-cell" title={words} aria-label={words} style={place} onClick={onOpen} disabled={!node.children.length || depth === 0}>
      {node.name}
    </button>
  );
}
