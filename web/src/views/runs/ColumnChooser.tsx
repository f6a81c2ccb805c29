import { Button } from "../../pieces/Button";
import { Details } from "../../pieces/Details";
import { FIXED } from "./choosing";
import type { RunColumn } from "./columns";

interface Props {
  all: readonly RunColumn[];
  shown: readonly RunColumn[];
  onWish: (key: string, on: boolean) => void;
  onForget: () => void;
}

/** A box to tick for each column; folded away, with a word about how many are. */
export function ColumnChooser({ all, shown, onWish, onForget }: Props) {
  const on = new Set(shown.map((column) => column.key));
  const choice = all.filter((column) => !FIXED.has(column.key));
  const hidden = choice.length - choice.filter((column) => on.has(column.key)).length;
  return (
    <div class="runs-columns">
      <Details summary={hidden ? `Columns: ${hidden} not shown` : "Columns"}>
        <fieldset>
          <legend class="quiet">Columns in which all runs are the same are left out unless they are ticked. This browser keeps your choice.</legend>
          {choice.map((column) => (
            <label key={column.key}>
              <input type="checkbox" checked={on.has(column.key)} onChange={(event) => onWish(column.key, event.currentTarget.checked)} /> {column.title}
            </label>
          ))}
        </fieldset>
        <Button onClick={onForget}>Show the usual columns</Button>
      </Details>
    </div>
  );
}
