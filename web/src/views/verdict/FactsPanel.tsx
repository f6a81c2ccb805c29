import { Details } from "../../pieces/Details";
import { Table } from "../../pieces/Table";
import type { RunFacts } from "./answers";

const COLUMNS = [
  { title: "What", cell: ([name]: [string, string]) => name },
  { title: "Value", cell: ([, text]: [string, string]) => text },
];

/** Command, seeds, machine, hyperparameters: folded away, for whoever wants to do it again. */
export function FactsPanel({ facts }: { facts: RunFacts }) {
  return (
    <Details summary="How it was run: command, machine, hyperparameters">
      <div class="verdict-facts">
        <Table caption="How it was run" columns={COLUMNS} rows={facts.rows} />
        {facts.hparams.length ? <Table caption="Hyperparameters" captioned columns={COLUMNS} rows={facts.hparams} /> : null}
      </div>
    </Details>
  );
}
