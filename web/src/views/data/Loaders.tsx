import { Name } from "../../pieces/Name";
import { count, number } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Table, type Column } from "../../pieces/Table";
import type { Loader } from "./answers";

export function Loaders({ loaders }: { loaders: Loader[] }) {
  if (loaders.length === 0) return null;
  return (
    <Panel title="Loaders" about="Equal samples: among the first ones of its first pass that were looked at, where their numbers tell samples apart.">
      <Table caption="The DataLoaders of the run" columns={COLUMNS} rows={loaders} />
    </Panel>
  );
}

const COLUMNS: Column<Loader>[] = [
  { title: "loader", cell: nameOf },
  { title: "dataset", cell: ({ dataset }) => <Name text={dataset} /> },
  { title: "samples", numeric: true, cell: ({ samples }) => (samples === null ? "a stream" : number(samples)) },
  { title: "batch size", numeric: true, cell: ({ batch_size }) => (batch_size === null ? "its own" : number(batch_size)) },
  { title: "shuffled", cell: ({ shuffle }) => (shuffle === null ? "by a sampler" : shuffle ? "yes" : "no") },
  { title: "workers", numeric: true, cell: ({ workers }) => number(workers) },
  { title: "last batch", cell: ({ drop_last }) => (drop_last ? "dropped if not full" : "kept") },
  { title: "equal samples", cell: equalOf },
];

function nameOf({ names, dataset, count: alike }: Loader) {
  return (
    <>
      <Name text={names[0] ?? dataset} />
      {alike > 1 ? <span class="quiet"> made {number(alike)} times</span> : null}
    </>
  );
}

function equalOf({ looked_at, repeated }: Loader): string {
  if (looked_at === 0) return "cannot be told";
  return repeated === 0 ? `none of ${number(looked_at)}` : `${number(repeated)} of ${count(looked_at, "sample")}`;
}
