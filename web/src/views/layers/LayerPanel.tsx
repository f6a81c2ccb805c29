import { useEffect, useRef } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { toNumber } from "../../answers";
import { Chart } from "../../charts/Chart";
import { choose, writeLink } from "../../links";
import { SeverityBadge } from "../../pieces/Badge";
import { Button } from "../../pieces/Button";
import { Name } from "../../pieces/Name";
import { Inline } from "../../pieces/Prose";
import { Problem, Waiting } from "../../states";
import type { Layer, LayerCurve } from "./answers";
import { Ledger } from "./Ledger";
import { Spreads } from "./Spreads";
import { isSparse, sayValue } from "./words";

interface Props {
  run: string;
  layer: string;
  chosen: Record<string, string>;
  version: string;
}

/** All that is known of one layer. */
export function LayerPanel({ run, layer, chosen, version }: Props) {
  const { answer, error } = useAnswer<Layer>("layer", { run, layer }, version);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  const close = () => {
    choose({ layer: undefined, spread: undefined }, false);
    document.querySelector<HTMLElement>(".heat-scroll")?.focus();
  };
  return (
    <aside class="layers-panel" aria-label={`Layer ${layer}`} onKeyDown={(event) => event.key === "Escape" && close()}>
      <div class="layers-panel-head">
        <h2 ref={title} tabIndex={-1}>
          <Name text={layer} />
        </h2>
        <Button onClick={close}>Close</Button>
      </div>
      {error ? <Problem text={error} /> : null}
      {answer ? <Told layer={answer} run={run} chosen={chosen} version={version} /> : error ? null : <Waiting what="the layer" />}
    </aside>
  );
}

function Told({ layer, run, chosen, version }: { layer: Layer; run: string; chosen: Record<string, string>; version: string }) {
  return (
    <>
      <Source layer={layer} />
      <Findings layer={layer} run={run} />
      <h3>Spread of values</h3>
      <Spreads run={run} sources={layer.spreads} chosen={chosen} version={version} />
      <h3>Parameters</h3>
      <Ledger rows={layer.parameters} />
      <h3>Over the run</h3>
      {layer.curves.length ? (
        <div class="layers-curves">
          {layer.curves.map((curve) => (
            <Curve key={curve.key} curve={curve} layer={layer.layer} />
          ))}
        </div>
      ) : (
        <p class="quiet">Nothing was measured in this layer: it did not run in a step that was looked at closely.</p>
      )}
    </>
  );
}

function Source({ layer }: { layer: Layer }) {
  const settings = Object.entries(layer.settings).map(([name, value]) => `${name} ${sayValue(value, "")}`);
  return (
    <div class="layers-source">
      <p>
        {layer.kind ? <code>{layer.kind}</code> : "A part of the model whose class is not known"}
        {settings.length ? <span class="quiet">, {settings.join(", ")}</span> : null}
        {layer.place ? (
          <>
            {", made at "}
            <code>{`${layer.place.file}:${layer.place.line ?? "?"}`}</code>
          </>
        ) : (
          <span class="quiet">, made at a line that is not known</span>
        )}
      </p>
      {layer.place?.code ? (
        <pre class="layers-code" tabIndex={0} aria-label="The line that makes it">
          {layer.place.code}
        </pre>
      ) : null}
    </div>
  );
}

function Findings({ layer, run }: { layer: Layer; run: string }) {
  if (!layer.findings.length) return null;
  return (
    <ul class="layers-findings">
      {layer.findings.map((finding) => (
        <li key={finding.check}>
          <SeverityBadge severity={finding.severity} /> <Inline text={finding.message} />{" "}
          <a href={writeLink({ view: "verdict", parameters: { run } })}>Read more in the verdict</a>
        </li>
      ))}
    </ul>
  );
}

function Curve({ curve, layer }: { curve: LayerCurve; layer: string }) {
  const values = curve.values.map(toNumber);
  const log = curve.scale === "log" && values.some((value) => value > 0 && Number.isFinite(value)) && !values.some((value) => value <= 0);
  const last = curve.values[curve.values.length - 1];
  return (
    <figure class="layers-curve">
      <figcaption title={curve.says}>
        <span>{curve.unit && curve.unit !== "share" ? `${curve.title} (${curve.unit})` : curve.title}</span> <strong>{sayValue(last, curve.unit)}</strong>
      </figcaption>
      <Chart label={`${curve.title} of ${layer}`} lines={[{ name: curve.title, x: curve.steps, y: values, colour: 0, sparse: isSparse(curve.steps) }]} logY={log} height={110} syncKey="layer" withLegend={false} />
    </figure>
  );
}
