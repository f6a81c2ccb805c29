import { useAnswer } from "../../answer_hooks";
import { Chart } from "../../charts/Chart";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { Diff } from "../../pieces/Diff";
import { Panel } from "../../pieces/Panel";
import { Inline } from "../../pieces/Prose";
import { Table } from "../../pieces/Table";
import { writeNames } from "../../run_names";
import { Problem, Waiting } from "../../states";
import { diffLines, linesOf, same, type Comparison, type Difference, type Topic } from "./comparison";

const TITLES: Record<string, string> = {
  settings: "What they were told: arguments, hyperparameters, seeds",
  optimizer: "Optimizer and schedule",
  code: "Code",
  environment: "Environment: versions, hardware, variables",
  data: "Data",
  model: "Model",
  outcome: "What became of them",
};

/** Two runs: where they part, why, and everything else that differs. */
export function Pair({ first, second, version, log }: { first: string; second: string; version: string; log: boolean }) {
  const { answer, error } = useAnswer<Comparison>("compare", { runs: writeNames([first, second]) }, version);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="both runs" />;
  const known = new Set(answer.points.map((each) => each.name));
  return (
    <>
      <Answer comparison={answer} />
      <Losses comparison={answer} log={log} />
      {answer.topics.map((topic) => (
        <TopicPanel key={topic.name} topic={topic} runs={answer.runs} known={known} />
      ))}
      <SmallPrint comparison={answer} />
    </>
  );
}

function Answer({ comparison }: { comparison: Comparison }) {
  const { answer, sentences, findings, points, runs } = comparison;
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
      {points.length ? <Differences caption="What fits this" rows={points} runs={runs} /> : null}
    </section>
  );
}

function Losses({ comparison, log }: { comparison: Comparison; log: boolean }) {
  const lines = linesOf(comparison);
  const { step } = comparison;
  if (!lines.length) return null;
  const axis = (
    <Button pressed={log} onClick={() => choose({ log: log ? undefined : "1" })}>
      Log scale
    </Button>
  );
  return (
    <Panel title="Loss of both runs" tools={axis} about={step === null ? undefined : `The dashed line is step ${step}, at which they part.`}>
      <Chart label="Loss of both runs" lines={lines} logY={log} height={260} marks={step === null ? [] : [{ x: step, label: "they part", colour: "--quiet" }]} />
    </Panel>
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

function Differences({ caption, rows, runs }: { caption: string; rows: readonly Difference[]; runs: [string, string] }) {
  const columns = [
    { title: "What", cell: (row: Difference) => row.name },
    { title: runs[0], cell: (row: Difference) => row.first || <span class="quiet">none</span> },
    { title: runs[1], cell: (row: Difference) => row.second || <span class="quiet">none</span> },
  ];
  return <Table caption={caption} columns={columns} rows={rows} />;
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
