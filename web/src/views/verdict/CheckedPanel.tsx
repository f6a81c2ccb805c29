import { count } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Table } from "../../pieces/Table";
import type { Checked } from "./answers";

const COLUMNS = [
  { title: "Family", cell: (row: Checked["families"][number]) => FAMILY_WORDS[row.name] ?? row.name },
  { title: "Judged", numeric: true, cell: (row: Checked["families"][number]) => row.asked },
  { title: "Checks", numeric: true, cell: (row: Checked["families"][number]) => row.checks },
];

const FAMILY_WORDS: Record<string, string> = {
  setup: "Model and optimizer",
  data: "Data",
  activations: "Activations",
  gradients: "Gradients",
  training: "Training loop and loss",
  numerics: "NaN, Inf and precision",
  speed: "Speed and memory",
  ranks: "Several processes",
  crashes: "Crashes",
};

/** What was looked at, and what could not be. */
export function CheckedPanel({ checked }: { checked: Checked }) {
  const all = checked.families.reduce((sum, each) => sum + each.checks, 0);
  const asked = checked.families.reduce((sum, each) => sum + each.asked, 0);
  return (
    <Panel title="What was checked" about={`${asked} of ${count(all, "check")} had something to judge in this run; the others look for things that it did not do, such as a crash.`}>
      <Table caption="Checks by family" columns={COLUMNS} rows={checked.families} />
      <Unseen checked={checked} />
    </Panel>
  );
}

function Unseen({ checked }: { checked: Checked }) {
  const unseen = [...checked.unseen, ...checked.notices];
  return (
    <div class="verdict-unseen">
      <h3>What could not be looked at</h3>
      {unseen.length ? (
        <ul>
          {unseen.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      ) : (
        <p>Nothing was reported: every probe stayed on.</p>
      )}
      {checked.cost ? <p class="quiet">What watching cost: {checked.cost}.</p> : null}
    </div>
  );
}
