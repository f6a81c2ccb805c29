import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { Button } from "../../pieces/Button";
import type { RunColumn } from "./columns";
import { isLabelled, titleOf, type Listed } from "./rows";
import { useWindow, type Window } from "./scrolling";

const ROW_REM = 2.5;
const TWO_LINES_REM = 3.5; // where tags or a note stand under a name

export interface Sort {
  column: string;
  down: boolean;
}

interface Props {
  box: RefObject<HTMLDivElement | null>;
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
  const { runs, columns, box } = props;
  const rowRem = runs.some(isLabelled) ? TWO_LINES_REM : ROW_REM;
  const rowHeight = rowRem * rem();
  const { window: seen, more } = useWindow(box, rowHeight, runs.length);
  const { first, end } = seen;
  useEffect(() => props.onSight({ first, end }), [first, end, runs]);
  const width = columns.reduce((sum, column) => sum + column.width, 2.5);
  return (
    <div class={more ? "runs-around runs-more" : "runs-around"}>
      <div class="runs-box" ref={box} role="region" aria-label="Runs" tabIndex={0}>
        <table class="runs-table" aria-rowcount={runs.length + 1} style={{ width: `max(100%, ${width}rem)`, "--row": `${rowRem}rem` }}>
          <caption class="unseen">Runs, with their verdicts, hyperparameters and losses</caption>
          <colgroup>
            <col style={{ width: "2.5rem" }} />
            {columns.map((column) => (
              <col key={column.key} style={{ width: `${column.width}rem` }} />
            ))}
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
    </div>
  );
}

function Heads({ columns, sort, onSort }: Props) {
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
          {column.key === "name" && onEdit ? (
            <div class="runs-first">
              {column.cell(run)}
              <Button onClick={() => onEdit(run)} label={`Edit ${titleOf(run)}`}>
                Edit
              </Button>
            </div>
          ) : (
            column.cell(run)
          )}
        </td>
      ))}
    </tr>
  );
}

function Space({ height }: { height: number }) {
  return height > 0 ? <tr aria-hidden="true" style={{ height: `${height}px` }} /> : null;
}

function rem(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}
