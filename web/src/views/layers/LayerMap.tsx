import { useMemo, useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { HeatLegend } from "../../charts/HeatLegend";
import { HeatMap } from "../../charts/HeatMap";
import { inksFor } from "../../charts/heat_drawing";
import { useTheme } from "../../charts/palette";
import { useLast } from "../../last_answer";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { count } from "../../pieces/numbers";
import { Inline } from "../../pieces/Prose";
import { SearchField } from "../../pieces/SearchField";
import { Select } from "../../pieces/Select";
import { Problem, Waiting } from "../../states";
import type { Choices, Grid, LayerNumber } from "./answers";
import { useBlocks, valueIn } from "./blocks";
import { mapInWords, matches, sayCell, sayValue, whyFewLooks } from "./words";

interface Props {
  run: string;
  /** How many the run has made. */
  steps: number;
  choices: Choices;
  chosen: Record<string, string>;
  version: string;
}

/** One number of all layers over the steps. */
export function LayerMap(props: Props) {
  const { run, choices, chosen } = props;
  const which = choices.numbers.find((each) => each.key === chosen.number) ?? preferred(choices);
  const model = chosen.model ?? which.models[0] ?? "";
  return (
    <section class="layers-map" aria-label="Map of the layers">
      <OfOneNumber key={`${run} ${which.key} ${model}`} {...props} which={which} model={model} />
    </section>
  );
}

/** While other steps are read the map stays, and with it the focus of whoever zooms by keys. */
function OfOneNumber(props: Props & { which: LayerNumber; model: string }) {
  const { run, chosen, which, model, version } = props;
  const parameters = { run, number: which.key, model, from: chosen.from, to: chosen.to };
  const { answer, error } = useAnswer<Grid>("layers", parameters, version);
  const grid = useLast(answer);
  return (
    <>
      <Choosing {...props} grid={grid} />
      {error ? <Problem text={error} /> : null}
      {grid ? <Drawn {...props} grid={grid} parameters={parameters} /> : error ? null : <Waiting what={which.title.toLowerCase()} />}
    </>
  );
}

function preferred(choices: Choices): LayerNumber {
  return choices.numbers.find((each) => each.key === "activation.std") ?? choices.numbers[0]!;
}

function Choosing({ choices, chosen, which, model, grid }: Props & { which: LayerNumber; model: string; grid: Grid | null }) {
  const found = chosen.filter && grid ? `${count(grid.layers.filter((name) => matches(name, chosen.filter!)).length, "layer")} of ${grid.layers.length}` : undefined;
  return (
    <div class="layers-choosing">
      <Select label="Show" value={which.key} options={choices.numbers.map((each) => ({ value: each.key, title: each.title, hint: each.says }))} onChange={(key) => choose({ number: key })} />
      {choices.models.length > 1 ? (
        <Select label="Model" value={model} options={which.models.map((name) => ({ value: name, title: name }))} onChange={(name) => choose({ model: name, layer: undefined })} />
      ) : null}
      <SearchField label="Layers" value={chosen.filter ?? ""} placeholder="part of a name" onInput={(typed) => choose({ filter: typed })} {...(found ? { found } : {})} />
      {chosen.from || chosen.to ? <Button onClick={() => choose({ from: undefined, to: undefined })}>All steps</Button> : null}
    </div>
  );
}

type DrawnProps = Props & { grid: Grid; which: LayerNumber; parameters: Record<string, string | undefined> };

function Drawn({ grid, which, chosen, parameters, steps, choices }: DrawnProps) {
  const theme = useTheme();
  const inks = useMemo(() => inksFor(grid.range?.form === "diverging"), [grid.range?.form, theme]);
  const places = useMemo(() => grid.layers.map((_, place) => place).filter((place) => matches(grid.layers[place]!, chosen.filter ?? "")), [grid, chosen.filter]);
  const [sight, setSight] = useState<[number, number]>([0, 0]);
  const blocks = useBlocks(parameters, grid, places.slice(...sight));
  const valueAt = useMemo(() => (row: number, column: number) => valueIn(blocks, places[row]!, column), [blocks, places]);
  const rows = useMemo(() => places.map((place) => grid.layers[place]!), [places]);
  const marks = useMemo(() => marksOf(grid, places), [grid, places]);
  const say = (value: number) => sayValue(value, which.unit);
  return (
    <>
      <p class="layers-says">{which.says}</p>
      <p class="layers-says">
        <Inline text={whyFewLooks(grid.measured, steps, choices.budget)} />
      </p>
      <StandsOut sentences={grid.stands_out} />
      <HeatLegend range={grid.range} inks={inks} say={say} name={which.unit && which.unit !== "share" ? `${which.title} (${which.unit})` : which.title} />
      {rows.length && grid.steps.length ? (
        <HeatMap
          label={mapInWords(which, grid)}
          rows={rows}
          columns={grid.steps}
          columnName="step"
          valueAt={valueAt}
          range={grid.range}
          inks={inks}
          say={(value) => sayCell(value, which)}
          marks={marks}
          opened={chosen.layer ?? null}
          onOpen={(row) => choose({ layer: rows[row] }, false)}
          onZoom={(range) => choose({ from: range?.[0].toString(), to: range?.[1].toString() })}
          onSight={(first, last) => setSight([first, last])}
        />
      ) : (
        <p class="quiet" role="status">
          {grid.steps.length ? `No layer has “${chosen.filter}” in its name.` : "Nobody looked at the layers in these steps. Choose all steps to see when somebody did."}
        </p>
      )}
      <Told grid={grid} />
    </>
  );
}

function StandsOut({ sentences }: { sentences: string[] }) {
  if (!sentences.length) return null;
  return (
    <div class="layers-out">
      <h2>What stands out</h2>
      <ul>
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </div>
  );
}

function Told({ grid }: { grid: Grid }) {
  const left = grid.looks - grid.steps.length;
  return left > 0 ? <p class="layers-says">{`${count(left, "look")} of ${grid.looks.toLocaleString("en-US")} are left out so that the map fits the screen; looks with a NaN are kept before others. Drag over the map to see fewer steps.`}</p> : null;
}

function marksOf(grid: Grid, places: number[]) {
  const rows = new Map(places.map((place, row) => [place, row]));
  const shown = grid.marks.filter((mark) => rows.has(mark.layer));
  return new Map(shown.map((mark) => [rows.get(mark.layer)!, { severity: mark.severity, words: `${mark.severity}: ${mark.names.join(", ")}` }]));
}
