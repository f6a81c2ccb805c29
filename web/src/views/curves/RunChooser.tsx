import { useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { wholeNumber } from "../../charts/numbers";
import { choose } from "../../links";
import { Swatch } from "../../charts/Legend";
import { Select } from "../../pieces/Select";
import { writeList } from "./choices";
import { useClosing } from "./closing";

const MOST_LISTED = 200;
export const MOST_TOGETHER = 50;

interface ChooserProps {
  run: string;
  others: string[];
  by: string;
}

/** Which runs are drawn together, and by what they are grouped. */
export function RunChooser({ run, others, by }: ChooserProps) {
  return (
    <>
      <Overlay run={run} others={others} />
      {others.length ? <GroupChooser runs={[run, ...others]} by={by} /> : null}
    </>
  );
}

/** Which runs are drawn together; they stand as `runs` in the address. */
export function Overlay({ run, others }: Omit<ChooserProps, "by">) {
  const { place, open, onToggle } = useClosing();
  const count = others.length + 1;
  return (
    <details class="curves-runs" ref={place} onToggle={onToggle}>
      <summary>{count === 1 ? "Overlay runs" : `${count} runs overlaid`}</summary>
      {open ? <RunList run={run} others={others} /> : null}
    </details>
  );
}

function RunList({ run, others }: Omit<ChooserProps, "by">) {
  const { answer, error } = useAnswer<{ runs: string[] }>("names");
  const [text, setText] = useState("");
  const rest = (answer?.runs ?? []).filter((name) => name !== run);
  const found = rest.filter((name) => others.includes(name) || name.toLowerCase().includes(text.toLowerCase()));
  const full = others.length + 1 >= MOST_TOGETHER;
  if (error) return <p role="alert">{error}</p>;
  if (answer && !rest.length) return <p class="quiet">There is no other run here to compare with.</p>;
  return (
    <div class="curves-list">
      <input type="search" value={text} placeholder="Find a run" aria-label="Find a run" onInput={(event) => setText(event.currentTarget.value)} />
      <ul>
        {found.slice(0, MOST_LISTED).map((name) => (
          <RunEntry key={name} name={name} others={others} full={full} />
        ))}
      </ul>
      {found.length > MOST_LISTED ? <p class="quiet">{wholeNumber(found.length - MOST_LISTED)} more; type a part of the name.</p> : null}
      {full ? <p class="quiet">At most {MOST_TOGETHER} runs are drawn together.</p> : null}
    </div>
  );
}

function RunEntry({ name, others, full }: { name: string; others: string[]; full: boolean }) {
  const on = others.includes(name);
  const toggle = () => {
    const after = on ? others.filter((each) => each !== name) : [...others, name];
    choose({ runs: writeList(after), ...(after.length ? {} : { by: undefined }) });
  };
  return (
    <li>
      <label title={name}>
        <input type="checkbox" checked={on} disabled={full && !on} onChange={toggle} />
        {on ? <Swatch colour={others.indexOf(name) + 1} /> : null}
        <span>{name}</span>
      </label>
    </li>
  );
}

function GroupChooser({ runs, by }: { runs: string[]; by: string }) {
  const { answer } = useAnswer<{ by: Record<string, string[]> }>("grouped", { runs: writeList(runs) });
  const known = Object.entries(answer?.by ?? {});
  if (answer && !known.length) return <span class="quiet">These runs have the same hyperparameters: nothing to group by.</span>;
  return (
    <span title="The mean of each group, and one standard deviation over its runs on either side">
      <Select label="group by" value={by} onChange={(value) => choose({ by: value })} options={[{ value: "", title: "no group" }, ...known.map(([name, values]) => ({ value: name, title: `${name} (${values.length} values)` }))]} />
    </span>
  );
}
