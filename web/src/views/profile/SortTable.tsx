import { useMemo, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { Button } from "../../pieces/Button";
import { count } from "../../pieces/numbers";
import { SearchField } from "../../pieces/SearchField";

export interface SortColumn<Row> {
  title: string;
  value: (row: Row) => number | string;
  cell: (row: Row) => ComponentChildren;
}

interface Props<Row> {
  caption: string;
  rows: readonly Row[];
  columns: readonly SortColumn<Row>[];
  /** The column by which it is sorted at first. */
  by: string;
  /** What the search looks at; without it there is none. */
  words?: (row: Row) => string;
  /** What is counted: operator. */
  what: string;
}

const AT_ONCE = 50;

/** A table that any of its columns sorts, with a search where there are many rows. */
export function SortTable<Row>({ caption, rows, columns, by, words, what }: Props<Row>) {
  const [typed, setTyped] = useState("");
  const [most, setMost] = useState(AT_ONCE);
  const [sort, setSort] = useState({ by, down: true });
  const shown = useMemo(() => sortedRows(words ? rows.filter((row) => hasWords(words(row), typed)) : rows, columns, sort.by, sort.down), [rows, columns, typed, sort]);
  const press = (title: string, text: boolean) => setSort((old) => ({ by: title, down: old.by === title ? !old.down : !text }));
  return (
    <>
      {words && rows.length > 10 ? <SearchField label="Find" value={typed} onInput={setTyped} placeholder={`name of ${what === "operator" ? "an" : "a"} ${what}`} {...(typed ? { found: count(shown.length, what) } : {})} /> : null}
      <div class="table profile-table" role="region" aria-label={caption} tabIndex={0}>
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ title, value }) => {
                const text = typeof (rows[0] && value(rows[0])) === "string";
                return (
                  <th key={title} scope="col" class={text ? undefined : "numeric"} aria-sort={sort.by === title ? (sort.down ? "descending" : "ascending") : undefined}>
                    <button type="button" class="profile-sort" onClick={() => press(title, text)}>
                      {title}
                      {sort.by === title ? <span aria-hidden="true"> {sort.down ? "▾" : "▴"}</span> : null}
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {shown.slice(0, most).map((row, place) => (
              <tr key={place}>
                {columns.map(({ title, value, cell }, which) =>
                  which === 0 ? (
                    <th key={title} scope="row">
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={title} class={typeof value(row) === "string" ? undefined : "numeric"}>
                      {cell(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length > most ? <Button onClick={() => setMost(most + AT_ONCE)}>Show more of {count(shown.length, what)}</Button> : null}
    </>
  );
}

export function sortedRows<Row>(rows: readonly Row[], columns: readonly SortColumn<Row>[], by: string, down: boolean): Row[] {
  const column = columns.find((each) => each.title === by) ?? columns[0];
  if (!column) return [...rows];
  const way = down ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [left, right] = [column.value(one), column.value(other)];
    return way * (typeof left === "string" ? left.localeCompare(String(right)) : left - Number(right));
  });
}

export function hasWords(text: string, typed: string): boolean {
  const lower = text.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
