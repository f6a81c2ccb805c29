import { duration, percent } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Table } from "../../pieces/Table";
import type { Dear, Profile } from "./timing";

/** What a profile of some steps, or a trace of torch.profiler, tells: the dearest lines and ops. */
export function ProfileTables({ profile }: { profile: Profile }) {
  return (
    <>
      {profile.lines.length ? <Dearest title="Time by line" first="Line" beside="Code" about={profile.told} rows={profile.lines} /> : null}
      {profile.ops.length ? <Dearest title="Time by op" first="Op" beside="Calls" about={profile.lines.length ? undefined : profile.told} rows={profile.ops} /> : null}
    </>
  );
}

function Dearest({ title, first, beside, about, rows }: { title: string; first: string; beside: string; about?: string | undefined; rows: readonly Dear[] }) {
  const columns = [
    { title: first, cell: (row: Dear) => <code>{row.name}</code> },
    { title: "A step", numeric: true, cell: (row: Dear) => duration(row.seconds) },
    { title: "Share", numeric: true, cell: (row: Dear) => percent(row.share) },
    { title: beside, cell: (row: Dear) => <code>{row.beside}</code> },
  ];
  return (
    <Panel title={title} about={about}>
      <Table caption={title} columns={columns} rows={rows} />
    </Panel>
  );
}
