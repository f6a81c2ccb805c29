import type { ComponentChildren } from "preact";
import type { Num } from "../../answers";
import { number, bytes, duration } from "../../pieces/numbers";
import { SeverityBadge, StatusBadge } from "../../pieces/Badge";
import { CutName } from "../../pieces/CutName";
import { Name } from "../../pieces/Name";
import { Inline } from "../../pieces/Prose";
import { Sparkline } from "../../pieces/Sparkline";
import { writeLink } from "../../links";
import { isLabelled, metricTitle, titleOf, type Listed, type Value } from "./rows";

export interface RunColumn {
  key: string;
  title: string;
  /** In rem: rows come and go while one scrolls, and nothing may jump. */
  width: number;
  numeric?: boolean;
  sorts: boolean;
  cell: (run: Listed) => ComponentChildren;
}

const FIRST: RunColumn[] = [
  { key: "name", title: "Run", width: 18, sorts: true, cell: (run) => <RunName run={run} /> },
  { key: "verdict", title: "Verdict", width: 17, sorts: true, cell: (run) => <Verdict run={run} /> },
  { key: "loss", title: "Last loss", width: 6.5, numeric: true, sorts: true, cell: (run) => <Loss run={run} /> },
  { key: "curve", title: "Loss", width: 7.5, sorts: false, cell: (run) => <Curve run={run} /> },
];
const LAST: RunColumn[] = [
  { key: "status", title: "Status", width: 8.5, sorts: true, cell: (run) => (run.status ? <StatusBadge status={run.status} /> : <Unknown />) },
  { key: "steps", title: "Steps", width: 6, numeric: true, sorts: true, cell: (run) => (run.steps == null ? <Unknown /> : number(run.steps)) },
  { key: "duration", title: "Duration", width: 7.5, numeric: true, sorts: true, cell: (run) => (run.duration_s == null ? <Unknown /> : duration(run.duration_s)) },
  { key: "changed", title: "Last written", width: 10, sorts: true, cell: (run) => <Moment seconds={run.changed} /> },
  { key: "size", title: "Log", width: 5.5, numeric: true, sorts: true, cell: (run) => bytes(run.size_bytes) },
];

/** All that there can be, hyperparameters and metrics in this order. */
export function columnsFor(hparams: readonly string[], metrics: readonly string[] = []): RunColumn[] {
  const names = [...hparams, ...metrics];
  return [...FIRST, ...hparams.map(hparamColumn), ...metrics.map((tag) => metricColumn(tag, metricTitle(tag, names))), ...LAST];
}

function metricColumn(tag: string, title: string): RunColumn {
  return { key: `metric:${tag}`, title, width: 7, numeric: true, sorts: true, cell: (run) => <Metric value={run.details?.hparam_metrics?.[tag]} /> };
}

function hparamColumn(name: string): RunColumn {
  return { key: `hparam:${name}`, title: name, width: 7, numeric: true, sorts: true, cell: (run) => <Hparam value={run.details?.hparams?.[name]} /> };
}

function RunName({ run }: { run: Listed }) {
  const { tags = [], note } = run.label;
  return (
    <span class="runs-name">
      <a data-walk="" aria-label={titleOf(run)} href={writeLink({ view: "verdict", parameters: { run: run.name } })}>
        <CutName text={titleOf(run)} title={run.label.name ? `${run.label.name} (${run.name})` : run.name} />
      </a>
      {isLabelled(run) ? (
        <span class="runs-said" title={[tags.join(", "), note].filter(Boolean).join("\n")}>
          {tags.map((tag) => (
            <span key={tag} class="runs-tag">
              {tag}
            </span>
          ))}
          {note}
        </span>
      ) : null}
    </span>
  );
}

function Verdict({ run }: { run: Listed }) {
  if (run.severity)
    return (
      <span class="runs-verdict" title={run.message ?? undefined}>
        <SeverityBadge severity={run.severity} /> <Inline text={run.message ?? ""} />
      </span>
    );
  return <span class="quiet">{noVerdict(run)}</span>;
}

export function noVerdict(run: Listed): string {
  if (run.status === null) return "Not read yet";
  if (run.details?.fault) return run.details.fault;
  if (run.details?.watched === false) return "Not watched by torch-debugger";
  return run.status === "running" ? "Nothing found so far" : "Nothing wrong found";
}

function Loss({ run }: { run: Listed }) {
  if (run.loss == null) return <Unknown />;
  return <span class={typeof run.loss === "string" ? "runs-odd" : ""}>{number(run.loss)}</span>;
}

function Curve({ run }: { run: Listed }) {
  if (run.details?.too_large) return <span class="quiet" title="Its log is too large to be read for a table. Open the run to see its curves.">large log</span>;
  return run.details?.curve ? <Sparkline curve={run.details.curve} what={`Loss of ${titleOf(run)}`} /> : null;
}

function Hparam({ value }: { value: Value | undefined }) {
  if (value === undefined || value === null) return <Unknown />;
  return <Name text={typeof value === "number" ? number(value) : String(value)} />;
}

function Metric({ value }: { value: Num | undefined }) {
  if (value === undefined || value === null) return <Unknown />;
  return <span class={typeof value === "string" ? "runs-odd" : ""}>{number(value)}</span>;
}

function Unknown() {
  return <span class="quiet">–</span>;
}

function Moment({ seconds }: { seconds: number }) {
  const date = new Date(seconds * 1000);
  const day = date.toDateString() === new Date().toDateString() ? "Today" : date.toLocaleDateString("en-CA");
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return <time dateTime={date.toISOString()} title={date.toLocaleString()}>{`${day} ${time}`}</time>;
}
