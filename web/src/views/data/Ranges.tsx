import { Details } from "../../pieces/Details";
import { Name } from "../../pieces/Name";
import { number } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Table, type Column } from "../../pieces/Table";
import { toNumber, type Num } from "../../answers";
import { MarkedNumber } from "./MarkedNumber";
import type { Look, Range } from "./answers";
import { lossWord } from "./words";

/** Lowest, highest, mean and spread of inputs and targets: over all looks, and step by step. */
export function Ranges({ ranges }: { ranges: Range[] }) {
  if (ranges.length === 0) return null;
  return (
    <Panel title="Ranges" about="Of inputs and targets, at the steps that were looked at closely. Mean and spread: at the first look, and at the last. Rows that were measured on a part of the tensor differ a little from those measured on all of it.">
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
  { title: "measured on", cell: (range) => <span class="data-line">{measuredOn(range)}</span> },
  { title: "lowest", numeric: true, cell: ({ looks }) => <MarkedNumber value={extreme(looks, "low", Math.min)} /> },
  { title: "highest", numeric: true, cell: ({ looks }) => <MarkedNumber value={extreme(looks, "high", Math.max)} /> },
  { title: "mean", numeric: true, cell: ({ looks }) => change(looks, "mean") },
  { title: "std", numeric: true, cell: ({ looks }) => change(looks, "std") },
  { title: "NaN or Inf", numeric: true, cell: ({ looks }) => wrong(looks) },
  { title: "looks", numeric: true, cell: ({ looks }) => looks.length },
];

const STEPS: Column<Look>[] = [
  { title: "step", numeric: true, cell: (look) => look.step.toLocaleString("en-US") },
  { title: "lowest", numeric: true, cell: (look) => <MarkedNumber value={look.low} /> },
  { title: "highest", numeric: true, cell: (look) => <MarkedNumber value={look.high} /> },
  { title: "mean", numeric: true, cell: (look) => <MarkedNumber value={look.mean} /> },
  { title: "std", numeric: true, cell: (look) => <MarkedNumber value={look.std} /> },
  { title: "NaN or Inf", numeric: true, cell: (look) => (look.not_finite === null ? "not counted" : number(look.not_finite)) },
];

/** A mean of the first 8 rows is not that of the batch: without this word it would look like a transform. */
export function measuredOn({ where, shape, looks }: Range): string {
  const whole = shape.reduce((product, size) => product * size, 1);
  const measured = looks[looks.length - 1]?.measured ?? null;
  if (measured === null) return "a part of it";
  if (measured >= whole) return "all of it";
  const some = `${measured.toLocaleString("en-US")} of ${whole.toLocaleString("en-US")} numbers`;
  return where === "into the first layer" ? some : `the first ${some}`;
}

function extreme(looks: Look[], which: "low" | "high", choose: (...values: number[]) => number): Num {
  const values = looks.map((look) => toNumber(look[which]));
  return values.some(Number.isNaN) ? "nan" : choose(...values);
}

export function hasOddNumbers(ranges: readonly Range[]): boolean {
  return ranges.some(({ looks }) => looks.some((look) => (look.not_finite ?? 0) > 0 || !Number.isFinite(toNumber(look.mean))));
}

function change(looks: Look[], which: "mean" | "std"): string {
  const [first, last] = [number(looks[0]?.[which]), number(looks[looks.length - 1]?.[which])];
  return first === last ? first : `${first} → ${last}`;
}

function wrong(looks: Look[]): string {
  const counted = looks.filter((look) => look.not_finite !== null);
  return counted.length ? number(counted.reduce((sum, look) => sum + (look.not_finite ?? 0), 0)) : "not counted";
}
