import { useAnswer } from "../../answer_hooks";
import { writeLink } from "../../links";
import { StatusBadge } from "../../pieces/Badge";
import { bytes, count, duration, number } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Sparkline } from "../../pieces/Sparkline";
import { Table, type Column } from "../../pieces/Table";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import { Curves } from "./Curves";
import { agreementInWords, oddness, type Agreement, type Rank, type Ranks } from "./ranks";
import "./ranks.css";

function RanksView({ run, version, about, chosen }: Shown) {
  const { answer, error } = useAnswer<Ranks>("ranks", { run }, version);
  if (about.ranks < 2)
    return <Empty title="This run was made by one process.">A training in several processes (torchrun) that log into one folder shows its ranks here.</Empty>;
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the ranks" />;
  const { ranks, weights } = answer;
  const odd = ranks.filter((rank) => oddness(rank, ranks).length);
  return (
    <>
      <h1 class="ranks-title">Ranks</h1>
      <p class={weights?.first_apart == null ? "ranks-said" : "ranks-said ranks-apart"}>{agreementInWords(weights, answer.all_ranks)}</p>
      <p class="quiet">{odd.length ? `${count(odd.length, "rank stands", "ranks stand")} out below.` : "No rank stands out."} Ranks wait for each other in every step, so a slow one makes the steps of all of them long; of its reasons only the wait for its own data is recorded by rank.</p>
      <Panel title={count(answer.all_ranks, "rank")} about={ranks.length < answer.all_ranks ? `The first ${ranks.length} are shown.` : "Step time and wait: the mean of the last 20 steps of each."}>
        <div class="ranks-table">
          <Table caption="Ranks side by side" rows={ranks} columns={columnsOf(run, ranks, weights)} />
        </div>
      </Panel>
      {chosen.rank === undefined ? null : <Curves run={run} rank={chosen.rank} version={version} />}
    </>
  );
}

function columnsOf(run: string, ranks: readonly Rank[], weights: Agreement | null): Column<Rank>[] {
  const has = (key: keyof Rank) => ranks.some((rank) => rank[key] !== null);
  return [
    { title: "Rank", cell: (rank) => rank.rank },
    { title: "Stands out", cell: (rank) => <Odd words={oddness(rank, ranks)} /> },
    { title: "Status", cell: (rank) => <StatusBadge status={rank.status} /> },
    ...(has("phase") ? [{ title: "Phase", cell: (rank: Rank) => rank.phase ?? "" }] : []),
    { title: "Last step", numeric: true, cell: (rank) => number(rank.last_step) },
    ...(has("step_s") ? [{ title: "Step time", numeric: true, cell: (rank: Rank) => duration(rank.step_s) }] : []),
    ...(has("wait_s") ? [{ title: "Wait for data", numeric: true, cell: (rank: Rank) => duration(rank.wait_s) }] : []),
    ...(has("memory_bytes") ? [{ title: "Memory", numeric: true, cell: (rank: Rank) => bytes(rank.memory_bytes) }] : []),
    ...(has("weight_norm") ? [{ title: `Norm of weights, step ${weights?.last_step ?? 0}`, numeric: true, cell: (rank: Rank) => number(rank.weight_norm, 6) }] : []),
    { title: "Last loss", numeric: true, cell: (rank) => number(rank.loss) },
    { title: "Loss", cell: (rank) => (rank.curve ? <Sparkline curve={rank.curve} what={`Loss of rank ${rank.rank}`} /> : null) },
    ...(has("host") ? [{ title: "Machine", cell: (rank: Rank) => rank.host ?? "" }] : []),
    { title: "Curves", cell: (rank) => <a href={writeLink({ view: "ranks", parameters: { run, rank: String(rank.rank) } })}>Curves of rank {rank.rank}</a> },
  ];
}

function Odd({ words }: { words: readonly string[] }) {
  return words.length ? <span class="ranks-odd">▲ {words.join(", ")}</span> : <span class="quiet">no</span>;
}

export const view: View = { name: "ranks", title: "Ranks", place: 80, appears: (about) => about.ranks > 1, Body: RanksView };
