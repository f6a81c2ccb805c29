import { useAnswer } from "../../answer_hooks";
import { bytes, duration, number, percent } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Empty, Problem, Waiting } from "../../states";
import type { Collective, Rank, RanksAnswer } from "./answers";
import { SortTable, type SortColumn } from "./SortTable";

const PARTS: [keyof Rank, string, string][] = [
  ["computing_s", "computing", "--chart-1"],
  ["overlap_s", "computing and communicating", "--chart-5"],
  ["communicating_s", "communicating alone", "--chart-4"],
  ["other_s", "neither", "--chart-8"],
];

export function Ranks({ trace, version }: { trace: string; version: string }) {
  const { answer, error } = useAnswer<RanksAnswer>("trace_ranks", { trace }, version);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the ranks" />;
  if (answer.world_size < 2) return <Empty title="This trace is of a training in one process.">Traces of several ranks in one folder are shown side by side here.</Empty>;
  const missing = answer.world_size - answer.ranks.length;
  return (
    <>
      <Panel title="What each rank did in a step" about={missing > 0 ? `Of ${answer.world_size} ranks, ${missing} ${missing === 1 ? "has" : "have"} no trace here.` : "The mean over the steps of its trace."}>
        {answer.ranks.map((rank) => (
          <RankBar key={rank.rank} rank={rank} most={Math.max(...answer.ranks.map((each) => each.step_s))} />
        ))}
        <ul class="time-legend">
          {PARTS.map(([, title, colour]) => (
            <li key={title}>
              <span class="time-swatch" style={{ background: `var(${colour})` }} aria-hidden="true" /> {title}
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Ranks">
        <SortTable caption="Ranks" what="rank" rows={answer.ranks} columns={COLUMNS} by="A step" />
      </Panel>
      {answer.collectives.length ? (
        <Panel title="Collectives" about="A step. Bytes are those of the inputs, where shapes were recorded.">
          <SortTable caption="Collectives" what="collective" rows={answer.collectives} columns={COLLECTIVES} by="Total" words={(row) => row.name} />
        </Panel>
      ) : null}
    </>
  );
}

function RankBar({ rank, most }: { rank: Rank; most: number }) {
  const words = PARTS.map(([key, title]) => `${title} ${duration(rank[key] as number)}`).join(", ");
  return (
    <div class="profile-rank">
      <span class="profile-rank-name">rank {rank.rank}</span>
      <div class="profile-rank-bar" role="img" aria-label={`Rank ${rank.rank}: ${words}`} title={words} style={{ width: `${most > 0 ? (rank.step_s / most) * 100 : 0}%` }}>
        {PARTS.map(([key, title, colour]) => (
          <span key={title} style={{ flexGrow: (100 * (rank[key] as number)) / (rank.step_s || 1), background: `var(${colour})` }} />
        ))}
      </div>
    </div>
  );
}

const part = (title: string, of: (row: Rank) => number): SortColumn<Rank> => ({ title, value: of, cell: (row) => `${duration(of(row))}, ${percent(row.step_s > 0 ? of(row) / row.step_s : null)}` });

const COLUMNS: SortColumn<Rank>[] = [
  { title: "Rank", value: (row) => row.rank, cell: (row) => `${row.rank} of ${row.world_size}` },
  { title: "Device", value: (row) => row.device, cell: (row) => row.device },
  { title: "A step", value: (row) => row.step_s, cell: (row) => duration(row.step_s) },
  part("Computing", (row) => row.computing_s),
  part("Overlap", (row) => row.overlap_s),
  part("Communicating", (row) => row.communicating_s),
  part("Neither", (row) => row.other_s),
];

const COLLECTIVES: SortColumn<Collective>[] = [
  { title: "Collective", value: (row) => row.name, cell: (row) => <code>{row.name}</code> },
  { title: "Rank", value: (row) => row.rank, cell: (row) => row.rank },
  { title: "Calls", value: (row) => row.calls, cell: (row) => number(row.calls / row.steps) },
  { title: "Total", value: (row) => row.total_s, cell: (row) => duration(row.total_s / row.steps) },
  { title: "Mean", value: (row) => row.total_s / row.calls, cell: (row) => duration(row.total_s / row.calls) },
  { title: "Bytes", value: (row) => row.size_bytes, cell: (row) => (row.size_bytes ? bytes(row.size_bytes / row.steps) : "") },
];
