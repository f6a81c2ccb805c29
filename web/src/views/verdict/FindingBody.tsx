import type { About } from "../../answers";
import { CodeBlock } from "../../pieces/CodeBlock";
import { Copy } from "../../pieces/Copy";
import { Diff } from "../../pieces/Diff";
import { number, readable } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Prose } from "../../pieces/Prose";
import { Table } from "../../pieces/Table";
import type { ToldFinding } from "./answers";
import { More } from "./More";
import { Place } from "./Place";

interface Props {
  finding: ToldFinding;
  about: About;
}

/** All that a finding says below its first sentence. */
export function FindingBody({ finding, about }: Props) {
  const { code, diff, where } = finding;
  return (
    <>
      <Place finding={finding} about={about} />
      {code.length ? (
        <Panel title="Where">
          <CodeBlock label={`${where.file ?? "Source"}, line ${where.line ?? ""}`} lines={code} />
        </Panel>
      ) : null}
      <Panel title="What to change" tools={diff?.added ? <Copy text={diff.added} what="the new lines" /> : undefined}>
        <Prose text={finding.fix} />
        {diff ? <Edit diff={diff} /> : null}
      </Panel>
      <Panel title="Why">
        <Prose text={finding.why} />
        <Evidence finding={finding} />
      </Panel>
      <More name={finding.name} />
    </>
  );
}

function Edit({ diff }: { diff: NonNullable<ToldFinding["diff"]> }) {
  const place = `${diff.file}:${diff.line}`;
  return (
    <div class="verdict-edit">
      <p class="quiet">
        <code>{place}</code>
      </p>
      <Diff label={`The edit at ${place}`} lines={diff.lines} />
    </div>
  );
}

type Fact = [string, ToldFinding["evidence"][string]];

function Evidence({ finding }: { finding: ToldFinding }) {
  const rows = Object.entries(finding.evidence);
  if (rows.length === 0) return null;
  const columns = [
    { title: "Evidence", cell: ([name]: Fact) => readable(name) },
    { title: "Value", cell: ([, value]: Fact) => said(value) },
  ];
  return (
    <div class="verdict-evidence">
      <Table caption={`Evidence of ${finding.name}`} columns={columns} rows={rows} />
    </div>
  );
}

/** NaN and the infinities come as words, and so does text that is no number at all. */
function said(value: Fact[1]): string {
  if (typeof value !== "string") return number(value);
  return value === "nan" || value === "inf" || value === "-inf" ? number(value) : value;
}
