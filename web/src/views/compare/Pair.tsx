import { useAnswer } from "../../answer_hooks";
import { useTick } from "../../frame/runs";
import { Diff } from "../../pieces/Diff";
import { Panel } from "../../pieces/Panel";
import { Inline } from "../../pieces/Prose";
import { Table } from "../../pieces/Table";
import { writeNames } from "../../run_names";
import { Problem, Waiting } from "../../states";
import { diffLines, same, type Comparison, type Difference, type Topic } from "./comparison";
import { LossPanel } from "./LossPanel";

const TITLES: Record<string, string> = {
  settings: "What they were told: arguments, hyperparameters, seeds",
  optimizer: "Optimizer and schedule",
  code: "Code",
  environment: "Environment: versions, hardware, variables",
  data: "Data",
  model: "Model",
  outcome: "What became of them",
};

const AGAIN_MS = 20_000; // a comparison of runs that still grow takes longer than they are silent

interface Props {
  first: string;
  second: string;
  /** All that were chosen: their losses are drawn together. */
  names: readonly string[];
  titleOf: (name: string) => string;
  log: boolean;
}

/** Two runs: where they part, why, and everything else that differs. */
export function Pair({ first, second, names, titleOf, log }: Props) {
  const { answer, error } = useAnswer<Comparison>("compare", { runs: writeNames([first, second]) }, useTick(AGAIN_MS));
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="both runs" />;
  const titles: [string, string] = [titleOf(first), titleOf(second)];
  const known = new Set(answer.points.map((each) => each.name));
  return (
    <>
      <Answer comparison={answer} runs={titles} />
      <LossPanel names={names} titleOf={titleOf} step={answer.step} pair={names.length === 2 ? "they" : titles.join(" and ")} log={log} />
      {answer.topics.map((topic) => (
        <TopicPanel key={topic.name} topic={topic} runs={titles} known={known} />
      ))}
      <SmallPrint comparison={answer} />
    </>
  );
}

function Answer({ comparison, runs }: { comparison: Comparison; runs: [string, string] }) {
  const { answer, sentences, findings, points } = comparison;
  return (
    <section class="compare-answer" aria-label="Where the runs part">
      <p class="compare-first">
        <Inline text={answer} />
      </p>
      {[...sentences, ...findings].map((sentence) => (
        <p key={sentence}>
          <Inline text={sentence} />
        </p>
      ))}
      {points.length ? <Differences caption="What fits this" captioned rows={points} runs={runs} /> : null}
    </section>
  );
}

function TopicPanel({ topic, runs, known }: { topic: Topic; runs: [string, string]; known: ReadonlySet<string> }) {
  const rows = topic.differences.filter((each) => !known.has(each.name));
  if (!rows.length && !topic.lines.length) return null;
  const hidden = topic.all_differences - topic.differences.length;
  return (
    <Panel title={TITLES[topic.name] ?? topic.name} about={hidden ? `${hidden} more are not shown; torch-debugger diff --json writes them all.` : undefined}>
      {rows.length ? <Differences caption={`Differences in ${topic.name}`} rows={rows} runs={runs} /> : null}
      {topic.lines.length ? <Diff label={`Code: from ${runs[0]} to ${runs[1]}`} lines={diffLines(topic.lines)} /> : null}
      {topic.all_lines > topic.lines.length ? <p class="quiet">{topic.all_lines - topic.lines.length} more lines are not shown.</p> : null}
    </Panel>
  );
}

function Differences({ caption, captioned = false, rows, runs }: { caption: string; captioned?: boolean; rows: readonly Difference[]; runs: [string, string] }) {
  const columns = [
    { title: "What", cell: (row: Difference) => row.name },
    { title: runs[0], cell: (row: Difference) => row.first || <span class="quiet">none</span> },
    { title: runs[1], cell: (row: Difference) => row.second || <span class="quiet">none</span> },
  ];
  return <Table caption={caption} captioned={captioned} columns={columns} rows={rows} />;
}

function SmallPrint({ comparison }: { comparison: Comparison }) {
  const alike = same(comparison.topics);
  const words = [alike.length ? `The same in both: ${alike.join(", ")}.` : "", ...comparison.small_print].filter(Boolean);
  return (
    <div class="quiet">
      {words.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  );
}
