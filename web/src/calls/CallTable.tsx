import { useState } from "preact/hooks";
import { choose } from "../links";
import { Button } from "../pieces/Button";
import { count, duration, percent } from "../pieces/numbers";
import { SearchField } from "../pieces/SearchField";
import { callsOf, spotOf, type Called } from "./call_tree";
import { matching, pressed, sorted, type Sort, type SortKey } from "./sorting";

const AT_ONCE = 100;
const LEAST_SHARE = 0.001; // less is noise, and many digits
const HEADS: [SortKey, string, boolean][] = [
  ["name", "Function", false],
  ["calls", "Calls", true],
  ["own_s", "Own time", true],
  ["total_s", "With all below", true],
  ["spot", "Where", false],
];

interface Props {
  rows: readonly Called[];
  total_s: number;
  sort: Sort;
  onShow: (place: number) => void;
}

/** All functions, sorted by any column; a press on a name shows it alone in the icicle. */
export function CallTable({ rows, total_s, sort, onShow }: Props) {
  const [typed, setTyped] = useState("");
  const [most, setMost] = useState(AT_ONCE);
  const found = sorted(matching(rows, typed), sort);
  return (
    <>
      <SearchField label="Find" value={typed} onInput={setTyped} placeholder="function or file" {...(typed ? { found: count(found.length, "function") } : {})} />
      <div class="table calls-table" role="region" aria-label="Functions" tabIndex={0}>
        <table>
          <caption class="unseen">Functions</caption>
          <Heads sort={sort} />
          <tbody>
            {found.slice(0, most).map((row) => (
              <Line key={row.place} row={row} total_s={total_s} onShow={onShow} />
            ))}
          </tbody>
        </table>
      </div>
      {found.length > most ? <Button onClick={() => setMost(most + AT_ONCE)}>Show {Math.min(AT_ONCE, found.length - most)} more of {found.length.toLocaleString("en-US")}</Button> : null}
    </>
  );
}

function Heads({ sort }: { sort: Sort }) {
  return (
    <thead>
      <tr>
        {HEADS.map(([by, title, numeric]) => (
          <th key={by} scope="col" class={numeric ? "numeric" : undefined} aria-sort={sort.by === by ? (sort.down ? "descending" : "ascending") : undefined}>
            <button type="button" class="calls-sort" onClick={() => choose({ sort: pressed(sort, by) })}>
              {title}
              {sort.by === by ? <span aria-hidden="true"> {sort.down ? "▾" : "▴"}</span> : null}
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

function Line({ row, total_s, onShow }: { row: Called; total_s: number; onShow: (place: number) => void }) {
  const share = (seconds: number) => (seconds >= LEAST_SHARE * total_s && total_s > 0 ? <span class="quiet"> {percent(seconds / total_s)}</span> : null);
  return (
    <tr>
      <th scope="row">
        <button type="button" class="calls-name" onClick={() => onShow(row.place)}>
          {row.name}
        </button>
      </th>
      <td class="numeric" title={callsOf(row)}>
        {row.calls.toLocaleString("en-US")}
        {row.primitive === row.calls ? "" : `/${row.primitive.toLocaleString("en-US")}`}
      </td>
      <td class="numeric">
        {duration(row.own_s)}
        {share(row.own_s)}
      </td>
      <td class="numeric">
        {duration(row.total_s)}
        {share(row.total_s)}
      </td>
      <td class="calls-spot" title={row.file}>{spotOf(row)}</td>
    </tr>
  );
}
