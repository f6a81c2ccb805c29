import { SeverityBadge } from "../../pieces/Badge";
import { Panel } from "../../pieces/Panel";
import { Table } from "../../pieces/Table";
import { count, si } from "../../pieces/numbers";
import { writeLink } from "../../links";
import { shapeText, type Module } from "./model_answers";
import type { Measured } from "./module_numbers";

interface Props {
  run: string;
  module: Module;
  /** Whether it has a place in the drawing. */
  drawn: boolean;
  measured: Measured | null;
}

export function ModulePanel({ run, module, drawn, measured }: Props) {
  const logged = module.operations !== undefined;
  const layer = writeLink({ view: "layers", parameters: { run, layer: module.path } });
  return (
    <Panel title={module.path} about={module.class}>
      <dl class="model-facts">
        {logged && !module.parameters ? null : <Fact name="Parameters">{module.parameters.toLocaleString("en-US")}</Fact>}
        {logged ? null : <Fact name="FLOPs of a forward">{flopsText(module)}</Fact>}
        {module.operations?.length ? <Fact name="Its own operations">{module.operations.map(([op, times]) => (times > 1 ? `${op} (${times})` : op)).join(", ")}</Fact> : null}
        {module.given.length ? <Fact name="Given">{module.given.map(shapeText).join(", ")}</Fact> : null}
        {module.made.length ? <Fact name="Made">{module.made.map(shapeText).join(", ")}</Fact> : null}
        {module.calls !== null ? <Fact name="Calls">{module.calls ? count(module.calls, "call") : "none of its own"}</Fact> : null}
        {measured?.step !== undefined ? <Fact name={measured.title}>{measuredText(measured, module)}</Fact> : null}
        {module.place ? (
          <Fact name="Made by">
            <code title={module.place.code ?? undefined}>
              {module.place.file}:{module.place.line}
            </code>
          </Fact>
        ) : null}
      </dl>
      {drawn || logged ? null : <p class="quiet">It was not called in the forward that was traced, so it has no place of its own in the drawing.</p>}
      {module.findings.map((finding) => (
        <p key={finding.name} class="model-finding">
          <SeverityBadge severity={finding.severity} /> {finding.message}
        </p>
      ))}
      <OwnParameters module={module} />
      {logged ? null : (
        <p>
          <a href={layer}>Its numbers over time</a>
        </p>
      )}
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

export function flopsText(module: Module): string {
  if (module.flops === null) return "not known";
  const known = module.missing ? (module.flops ? `at least ${si(module.flops)}` : "not known") : si(module.flops);
  return module.missing ? `${known}. ${module.missing}` : known;
}

function measuredText({ say, of, step }: Measured, module: Module): string {
  return `${say(of(module.path))} at step ${step?.toLocaleString("en-US")}`;
}

function OwnParameters({ module }: { module: Module }) {
  if (!module.own.length) return null;
  if (module.own.every((row) => row.shape === null)) return <p>Its own parameters and buffers: {module.own.map((row) => row.name).join(", ")}. The graph does not tell their shapes.</p>;
  return (
    <Table
      caption="Its own parameters"
      captioned
      columns={[
        { title: "Name", cell: (row) => <code>{row.name}</code> },
        { title: "Shape", cell: (row) => (row.shape ? shapeText(row.shape) : "not told") },
        { title: "Kind", cell: (row) => row.dtype },
        { title: "Trained", cell: (row) => (row.trainable === null ? "not told" : row.trainable ? "yes" : "frozen") },
      ]}
      rows={module.own}
    />
  );
}
