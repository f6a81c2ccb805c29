import { useEffect, useRef } from "preact/hooks";
import { Button } from "../../pieces/Button";
import type { RunColumn } from "./columns";
import { titleOf, type Listed } from "./rows";
import { useWindow, type Window } from "./scrolling";

const ROW_REM = 2.5;

export interface Sort {
  column: string;
  down: boolean;
}

interface Props {
  runs: readonly Listed[];
  columns: readonly RunColumn[];
  sort: Sort;
  onSort: (column: string) => void;
  selected: ReadonlySet<string>;
  onSelect: (name: string, on: boolean) => void;
  /** Missing where nothing may be edited. */
  onEdit: ((run: Listed) => void) | undefined;
  onSight: (window: Window) => void;
}

export function RunTable(props: Props) {
  const { runs, columns } = props;
  const box = useRef<HTMLDivElement>(null);
  const rowHeight = ROW_REM * rem();
  const { first, end } = useWindow(box, rowHeight, runs.length);
  useEffect(() => props.onSight({ first, end }), [first, end, runs]);
  const width = columns.reduce((sum, column) => sum + column.width, 2.5 + (props.onEdit ? 4.5 : 0));
  return (
    <div class="runs-box" ref={box} role="region" aria-label="Runs" tabIndex={0}>
      <table class="runs-table" aria-rowcount={runs.length + 1} style={{ width: `max(100%, ${width}rem)` }}>
        <caption class="unseen">Runs, with their verdicts, hyperparameters and losses</caption>
        <colgroup>
          <col style={{ width: "2.5rem" }} />
          {columns.map((column) => (
            <col key={column.key} style={{ width: `${column.width}rem` }} />
          ))}
          {props.onEdit ? <col style={{ width: "4.5rem" }} /> : null}
        </colgroup>
        <Heads {...props} />
        <tbody>
          <Space height={first * rowHeight} />
          {runs.slice(first, end).map((run, place) => (
            <Line key={run.name} {...props} run={run} place={first + place} />
          ))}
          <Space height={(runs.length - end) * rowHeight} />
        </tbody>
      </table>
    </div>
  );
}

function Heads({ columns, sort, onSort, onEdit }: Props) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col">
          <span class="unseen">Select</span>
        </th>
        {columns.map((column) => (
          <th key={column.key} scope="col" class={column.numeric ? "numeric" : ""} aria-sort={sort.column === column.key ? (sort.down ? "descending" : "ascending") : undefined}>
            {column.sorts ? (
              <button type="button" class="runs-sort" title={column.title} onClick={() => onSort(column.key)}>
                <span>{column.title}</span>
                {sort.column === column.key ? <span aria-hidden="true">{sort.down ? "▾" : "▴"}</span> : null}
              </button>
            ) : (
              column.title
            )}
          </th>
        ))}
        {onEdit ? (
          <th scope="col" class="runs-last">
            <span class="unseen">Edit</span>
          </th>
        ) : null}
      </tr>
    </thead>
  );
}

function Line({ run, place, columns, selected, onSelect, onEdit }: Props & { run: Listed; place: number }) {
  const chosen = selected.has(run.name);
  return (
    <tr aria-rowindex={place + 2} class={chosen ? "runs-chosen" : ""}>
      <td>
        <input type="checkbox" aria-label={`Select ${titleOf(run)}`} checked={chosen} onChange={(event) => onSelect(run.name, event.currentTarget.checked)} />
      </td>
      {columns.map((column) => (
        <td key={column.key} class={column.numeric ? "numeric" : ""}>
          {column.cell(run)}
        </td>
      ))}
      {onEdit ? (
        <td class="runs-last">
          <Button onClick={() => onEdit(run)} label={`Edit ${titleOf(run)}`}>
            Edit
          </Button>
        </td>
      ) : null}
    </tr>
  );
}

function Space({ height }: { height: number }) {
  return height > 0 ? <tr aria-hidden="true" style={{ height: `${height}px` }} /> : null;
}

function rem(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}
