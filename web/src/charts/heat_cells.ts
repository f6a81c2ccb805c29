// Which cell lies where in a heat map, and where the keys lead from it.

export interface Shape {
  rows: number;
  columns: number;
  rowHeight: number;
  /** Of all columns together, in pixels. */
  width: number;
}

export interface Cell {
  row: number;
  column: number;
}

const WIDEST = 64; // pixels of a column, more on a large screen: a few looks are no wall of colour
const ROOMY = 2000; // pixels

export function mapWidth(room: number, columns: number): number {
  return Math.max(0, Math.min(room, columns * Math.max(WIDEST, room / 12)));
}

/** In pixels; `letter` is the size of the page's letters, `room` the width there is: large screens have large cells. */
export function rowHeightOf(rows: number, letter: number, room: number): number {
  const few = room > ROOMY ? 2.2 : 1.4;
  return Math.round((rows <= 40 ? few : rows <= 400 ? 1.15 : 1) * letter);
}

/** The same cell in other columns: at the step that is nearest. */
export function followed(cell: Cell | null, before: readonly number[], now: readonly number[]): Cell | null {
  const step = cell ? before[cell.column] : undefined;
  if (!cell || step === undefined || now.length === 0) return null;
  const away = now.map((each) => Math.abs(each - step));
  return { row: cell.row, column: away.indexOf(Math.min(...away)) };
}

/** The left edge of a column, on a whole pixel; of `columns` the right end. */
export function edge(column: number, shape: Shape): number {
  return Math.round((column * shape.width) / Math.max(1, shape.columns));
}

/** Null beside the cells. x and y are from the upper left of the first cell. */
export function cellAt(x: number, y: number, shape: Shape): Cell | null {
  if (x < 0 || y < 0 || x >= shape.width) return null;
  const cell = { row: Math.floor(y / shape.rowHeight), column: Math.floor((x * shape.columns) / shape.width) };
  return cell.row < shape.rows && cell.column < shape.columns ? cell : null;
}

/** The rows that are in sight, and a few around them. */
export function rowsInSight(scrolled: number, height: number, shape: Shape, around = 0): [number, number] {
  const first = Math.floor(scrolled / shape.rowHeight) - around;
  const last = Math.ceil((scrolled + height) / shape.rowHeight) + around;
  return [Math.max(0, first), Math.min(shape.rows, last)];
}

/** Null for a key that leads nowhere. */
export function moved(from: Cell, key: string, shape: Shape, page: number): Cell | null {
  const steps: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    PageUp: [-page, 0],
    PageDown: [page, 0],
    Home: [0, -shape.columns],
    End: [0, shape.columns],
  };
  const step = steps[key];
  if (!step) return null;
  return { row: within(from.row + step[0], shape.rows), column: within(from.column + step[1], shape.columns) };
}

function within(place: number, count: number): number {
  return Math.min(Math.max(0, count - 1), Math.max(0, place));
}

/** Half or twice the columns around one of them; null for all. */
export function zoomed(column: number, first: number, last: number, factor: number, columns: number): [number, number] | null {
  const wide = Math.max(2, Math.round((last - first + 1) * factor));
  if (wide >= columns) return null;
  const start = Math.min(Math.max(0, Math.round(column - wide / 2)), columns - wide);
  return [start, start + wide - 1];
}

/** Where words fit under the columns: places of columns, never closer than `apart` pixels. */
export function axisPlaces(shape: Shape, apart: number): number[] {
  const every = Math.max(1, Math.ceil((apart * shape.columns) / Math.max(1, shape.width)));
  return Array.from({ length: Math.ceil(shape.columns / every) }, (_, place) => place * every);
}
