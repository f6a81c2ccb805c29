import { Details } from "../../pieces/Details";
import { Name } from "../../pieces/Name";
import { number } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Table, type Column } from "../../pieces/Table";
import { toNumber, type Num } from "../../answers";
import type { Look, Range } from "./answers";
import { lossWord } from "./words";

/** Lowest, highest, mean and spread of inputs and targets: over all looks, and step by step. */
export function Ranges({ ranges }: { ranges: Range[] }) {
  if (ranges.length === 0) return null;
  return (
    <Panel title="Ranges" about="Of inputs and targets, at the steps that were looked at closely. Mean and spread: at the first look, and at the last.">
      <Table caption="Ranges of inputs and targets" columns={COLUMNS} rows={ranges} />
      <Details summary="Step by step">
        {ranges.map((range) => (
          <div key={`${range.where} ${range.name}`} class="data-steps">
            <Table caption={`${lossWord(range.name)}, ${range.where}`} captioned columns={STEPS} rows={range.looks} />
          </div>
        ))}
      </Details>
    </Panel>
  );
}

const COLUMNS: Column<Range>[] = [
  { title: "tensor", cell: (range) => <Name text={lossWord(range.name)} /> },
  { title: "where", cell: (range) => <span class="data-line">{range.where}</span> },
  { title: "shape", cell: (range) => <span class="data-line">{range.shape.join(" x ")}</span> },
  { title: "type", cell: (range) => range.dtype },
  { title: "lowest", numeric: true, cell: ({ looks }) => number(extreme(looks, "low", Math.min)) },
  { title: "highest", numeric: true, cell: ({ looks }) => number(extreme(looks, "high", Math.max)) },
  { title: "mean", numeric: true, cell: ({ looks }) => change(looks, "mean") },
  { title: "std", numeric: true, cell: ({ looks }) => change(looks, "std") },
  { title: "NaN or Inf", numeric: true, cell: ({ looks }) => wrong(looks) },
  { title: "looks", numeric: true, cell: ({ looks }) => looks.length },
];

const STEPS: Column<Look>[] = [
  { title: "step", numeric: true, cell: (look) => look.step.toLocaleString("en-US") },
  { title: "lowest", numeric: true, cell: (look) => number(look.low) },
  { title: "highest", numeric: true, cell: (look) => number(look.high) },
  { title: "mean", numeric: true, cell: (look) => number(look.mean) },
  { title: "std", numeric: true, cell: (look) => number(look.std) },
  { title: "NaN or Inf", numeric: true, cell: (look) => (look.not_finite === null ? "not counted" : number(look.not_finite)) },
];

function extreme(looks: Look[], which: "low" | "high", choose: (...values: number[]) => number): Num {
  const values = looks.map((look) => toNumber(look[which]));
  return values.some(Number.isNaN) ? "nan" : choose(...values);
}

function change(looks: Look[], which: "mean" | "std"): string {
  const [first, last] = [number(looks[0]?.[which]), number(looks[looks.length - 1]?.[which])];
  return first === last ? first : `${first} → ${last}`;
}

function wrong(looks: Look[]): string {
  const counted = looks.filter((look) => look.not_finite !== null);
  return counted.length ? number(counted.reduce((sum, look) => sum + (look.not_finite ?? 0), 0)) : "not counted";
}
