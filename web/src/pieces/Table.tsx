import type { ComponentChildren } from "preact";
import "./pieces.css";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** Right-aligned, with digits of one width. */
  numeric?: boolean;
}

interface Props<Row> {
  /** What the table holds, for screen readers; in sight with `captioned`. */
  caption: string;
  captioned?: boolean;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** The first cell of a row names it, unless false. */
  named?: boolean;
}

/** A plain table that scrolls inside itself where it is too wide. */
export function Table<Row>({ caption, captioned, columns, rows, named = true }: Props<Row>) {
  return (
    <div class="table" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class={captioned ? undefined : "unseen"}>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.numeric ? "numeric" : undefined}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={place}>{columns.map((column, which) => cellOf(column, row, named && which === 0))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellOf<Row>(column: Column<Row>, row: Row, names: boolean) {
  const look = column.numeric ? "numeric" : undefined;
  return names ? (
    <th key={column.title} scope="row" class={look}>
      {column.cell(row)}
    </th>
  ) : (
    <td key={column.title} class={look}>
      {column.cell(row)}
    </td>
  );
}
