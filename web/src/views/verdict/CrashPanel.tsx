import { CodeBlock } from "../../pieces/CodeBlock";
import { Copy } from "../../pieces/Copy";
import { Details } from "../../pieces/Details";
import { count } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Table } from "../../pieces/Table";
import type { Crash, CrashFrame } from "./answers";

const COLUMNS = [
  { title: "Variable", cell: (row: CrashFrame["values"][number]) => <code>{row.name}</code> },
  { title: "Type", cell: (row: CrashFrame["values"][number]) => row.kind },
  { title: "Value", cell: (row: CrashFrame["values"][number]) => row.says },
];

/** The way from the script's first line to the one that raised, with what the variables held. */
export function CrashPanel({ crash }: { crash: Crash }) {
  const innermost = crash.frames.length - 1;
  return (
    <Panel title="The crash" about={crash.step > 0 ? `At step ${crash.step}. Frames of your own code, the one that was called last at the end.` : "Frames of your own code, the one that was called last at the end."}>
      <p class="verdict-raised">
        <strong>{crash.kind}</strong>: {crash.message}
      </p>
      {crash.frames.map((frame, place) => (
        <Details key={place} open={place === innermost} walked summary={<FrameName frame={frame} />}>
          <Frame frame={frame} />
        </Details>
      ))}
      <Details summary="The whole traceback">
        <Copy text={crash.traceback} what="the traceback" />
        <pre class="verdict-traceback" tabIndex={0}>
          {crash.traceback}
        </pre>
      </Details>
    </Panel>
  );
}

function FrameName({ frame }: { frame: CrashFrame }) {
  return (
    <>
      <code>
        {frame.file}:{frame.line}
      </code>{" "}
      in <code>{frame.function}</code>
      {frame.module ? (
        <span class="quiet">
          {" "}
          of <code>{frame.module}</code>
          {frame.kind ? ` (${frame.kind})` : ""}
        </span>
      ) : null}
    </>
  );
}

function Frame({ frame }: { frame: CrashFrame }) {
  return (
    <>
      {frame.code.length ? <CodeBlock label={`${frame.file}, line ${frame.line}`} lines={frame.code} /> : null}
      {frame.failing ? (
        <p>
          What raised: <code>{frame.failing}</code>
        </p>
      ) : null}
      {frame.values.length ? <Table caption={`Variables of ${frame.function}`} columns={COLUMNS} rows={frame.values} /> : <p class="quiet">Its variables were not kept.</p>}
      {frame.inside ? <p class="quiet">From here it went through {count(frame.inside, "frame")} of libraries.</p> : null}
    </>
  );
}
