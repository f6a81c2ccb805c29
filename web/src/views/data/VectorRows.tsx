import { toNumber, type Num } from "../../answers";
import { number } from "../../pieces/numbers";
import { Table } from "../../pieces/Table";
import type { Sample } from "./answers";
import { PixelCanvas } from "../../pieces/PixelCanvas";
import { heat, inkOf } from "./colours";
import { MarkedNumber } from "./MarkedNumber";
import { mapped } from "./PictureGrid";

const WRITTEN_OUT = 12;

/** Rows of numbers: few are written out, many are a row of colours. */
export function VectorRows({ sample }: { sample: Sample }) {
  const [rows = 0, wide = 1] = sample.kept;
  const values = sample.numbers ?? [];
  if (sample.kept.length === 1) return <Values values={values} />;
  if (wide <= WRITTEN_OUT) return <Written values={values} rows={rows} wide={wide} name={sample.name} />;
  const [low, high] = [toNumber(sample.low), toNumber(sample.high)];
  return (
    <>
      <PixelCanvas
        class="data-heat"
        width={wide}
        height={rows}
        label={`${rows} rows of ${wide} numbers, from ${number(sample.low)} to ${number(sample.high)}`}
        draw={(canvas) => mapped(values.map(toNumber), low, high, inkOf(canvas, "--notfinite"))}
      />
      <Scale low={sample.low} high={sample.high} />
    </>
  );
}

function Values({ values }: { values: Num[] }) {
  return (
    <ol class="data-values">
      {values.map((value, place) => (
        <li key={place}>
          <small>sample {place + 1}</small> <MarkedNumber value={value} />
        </li>
      ))}
    </ol>
  );
}

function Written({ values, rows, wide, name }: { values: Num[]; rows: number; wide: number; name: string }) {
  const columns = Array.from({ length: wide }, (_, place) => ({ title: wide === 1 ? "value" : `[${place}]`, numeric: true, cell: (row: number) => <MarkedNumber value={values[row * wide + place]} /> }));
  const heading = { title: "sample", cell: (row: number) => row + 1 };
  return <Table caption={`The first rows of ${name}`} columns={[heading, ...columns]} rows={Array.from({ length: rows }, (_, row) => row)} />;
}

export function Scale({ low, high }: { low: Num; high: Num }) {
  const colours = [0, 0.25, 0.5, 0.75, 1].map((share) => `rgb(${heat(share).join(",")})`);
  return (
    <p class="data-scale">
      {number(low)} <span class="data-ramp" style={{ background: `linear-gradient(to right, ${colours.join(",")})` }} /> {number(high)}
    </p>
  );
}
