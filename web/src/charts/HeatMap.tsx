import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Num } from "../answers";
import { cellAt, edge, mapWidth, moved, rowHeightOf, rowsInSight, zoomed, type Cell, type Shape } from "./heat_cells";
import { drawCells, type Inks } from "./heat_drawing";
import { useDrag } from "./heat_drag";
import { useDrawing, useFollowingCell, useWindow } from "./heat_hooks";
import "./heat_map.css";
import { HeatAxis } from "./HeatAxis";
import { HeatLabels, type HeatMark } from "./HeatLabels";
import type { HeatRange } from "./heat_scale";

export interface HeatMapProps {
  /** What the picture shows, with the numbers that matter. */
  label: string;
  rows: readonly string[];
  columns: readonly number[];
  /** What a column is called: step. */
  columnName: string;
  valueAt: (row: number, column: number) => Num | undefined;
  range: HeatRange | null;
  inks: Inks;
  say: (value: Num | undefined) => string;
  marks: ReadonlyMap<number, HeatMark>;
  opened: string | null;
  onOpen: (row: number) => void;
  /** A range of the columns' numbers; null for all. */
  onZoom: (range: [number, number] | null) => void;
  /** The rows in sight, for whoever has to read them. */
  onSight?: (first: number, last: number) => void;
}

const KEYS = "Arrow keys read cells, Enter opens a layer, plus and minus zoom, 0 shows all.";

/** Rows over columns in colours: scrolls within itself, reads out the cell under the mouse or the keys. */
export function HeatMap(props: HeatMapProps) {
  const { rows, columns } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const seen = useWindow(scroller);
  const [cell, setCell] = useFollowingCell(columns);
  const [byKey, setByKey] = useState(false);
  const letter = letterSize();
  const labelWidth = Math.min(21 * letter, seen.width * (seen.width < 600 ? 0.42 : 0.36));
  const width = mapWidth(seen.width - labelWidth, columns.length);
  const shape: Shape = { rows: rows.length, columns: columns.length, rowHeight: rowHeightOf(rows.length, letter, seen.width), width };
  const [first, last] = rowsInSight(seen.scrolled, seen.height, shape, 1);
  const whole = shape.rows * shape.rowHeight;
  const height = Math.min(seen.height || whole, whole);
  const draw = (context: CanvasRenderingContext2D) => drawCells(context, { ...props, shape }, seen.scrolled, first, last);
  useDrawing(canvas, width, height, draw, [seen.scrolled, rows, columns, props.valueAt, props.range, props.inks]);
  useEffect(() => props.onSight?.(first, last), [first, last, rows]);
  const drag = useDrag((from, to) => zoomTo(Math.min(from, to), Math.max(from, to)));
  const zoomTo = (from: number, to: number) => props.onZoom([columns[from] ?? 0, columns[to] ?? 0]);
  const under = (event: MouseEvent): Cell | null => {
    const box = canvas.current!.getBoundingClientRect();
    return cellAt(event.clientX - box.left, event.clientY - box.top + (scroller.current?.scrollTop ?? 0), shape);
  };
  const press = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(seen.height / shape.rowHeight) - 1);
    const at = cell ?? { row: first, column: columns.length - 1 };
    const next = cell ? moved(at, event.key, shape, page) : event.key.startsWith("Arrow") ? at : null;
    if (next) {
      setCell(next);
      setByKey(true);
      reveal(scroller.current, next.row, shape.rowHeight);
    } else if (event.key === "Enter" && cell) props.onOpen(cell.row);
    else if (event.key === "0") props.onZoom(null);
    else if (event.key === "+" || event.key === "-") zoomBy(event.key === "+" ? 0.5 : 2, at.column);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const zoomBy = (factor: number, column: number) => {
    const range = zoomed(column, 0, columns.length - 1, factor, columns.length);
    if (range) zoomTo(...range);
    else if (factor > 1) props.onZoom(null);
  };
  const shown = cell && cell.row < rows.length && cell.column < columns.length ? cell : null;
  const words = useMemo(() => `${props.label} ${KEYS}`, [props.label]);
  return (
    <div class="heat">
      <output class="heat-readout" aria-live={byKey ? "polite" : "off"}>
        {shown ? `${rows[shown.row]}, ${props.columnName} ${columns[shown.column]!.toLocaleString("en-US")}: ${props.say(props.valueAt(shown.row, shown.column))}` : <Hint />}
      </output>
      <HeatAxis columns={columns} shape={shape} left={labelWidth} name={props.columnName} above />
      <div class="heat-scroll" ref={scroller} role="application" aria-label={words} tabIndex={0} onKeyDown={press}>
        <div class="heat-inner" style={{ height: `${whole}px` }}>
          <canvas
            ref={canvas}
            class="heat-canvas"
            aria-hidden="true"
            style={{ width: `${width}px`, height: `${height}px`, marginLeft: `${labelWidth}px` }}
            onPointerDown={(event) => drag.start(under(event)?.column ?? null, event)}
            onPointerMove={(event) => {
              const at = under(event);
              setByKey(false);
              setCell(at);
              drag.move(at?.column ?? null, event);
            }}
            onPointerLeave={() => (drag.cancel(), byKey || setCell(null))}
            onPointerUp={(event) => {
              const at = under(event);
              if (!drag.end() && at) props.onOpen(at.row);
            }}
          />
          <HeatLabels {...props} first={first} last={last} width={labelWidth} rowHeight={shape.rowHeight} letter={letter} />
          {shown ? <div class="heat-cursor" style={box(shown, shape, labelWidth)} /> : null}
          {drag.range ? <div class="heat-chosen" style={{ left: `${labelWidth + edge(Math.min(...drag.range), shape)}px`, width: `${edge(Math.max(...drag.range) + 1, shape) - edge(Math.min(...drag.range), shape)}px` }} /> : null}
        </div>
      </div>
      <HeatAxis columns={columns} shape={shape} left={labelWidth} name={props.columnName} />
    </div>
  );
}

function Hint() {
  return (
    <>
      <span class="heat-keys">Point at a cell to read it. {KEYS}</span>
      <span class="heat-touch">Tap a row to open its layer.</span>
    </>
  );
}

function letterSize(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}

function box(cell: Cell, shape: Shape, left: number) {
  const from = edge(cell.column, shape);
  const wide = edge(cell.column + 1, shape) - from;
  return { left: `${left + from}px`, top: `${cell.row * shape.rowHeight}px`, width: `${wide}px`, height: `${shape.rowHeight - 1}px` };
}

function reveal(scroller: HTMLElement | null, row: number, rowHeight: number): void {
  if (!scroller) return;
  const top = row * rowHeight;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + rowHeight > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + rowHeight - scroller.clientHeight;
}
