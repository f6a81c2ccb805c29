import { toNumber } from "../../answers";
import { number, percent } from "../../pieces/numbers";
import type { Sample } from "./answers";

/** Rows of whole numbers, a chip each, with its position; padding is faint and has a border of dots. */
export function TokenRows({ sample }: { sample: Sample }) {
  const [rows = 0, wide = 0] = sample.kept;
  const values = (sample.numbers ?? []).map(toNumber);
  const digits = Math.max(...values.map((value) => number(value).length), String(wide).length);
  return (
    <>
      <PaddingNote sample={sample} values={values} />
      <div class="data-tokens" role="region" aria-label={`Rows of ${sample.name}`} tabIndex={0} style={{ "--data-digits": `${digits}ch` }}>
        {Array.from({ length: rows }, (_, row) => (
          <div key={row} class="data-token-row">
            <span class="data-row-name">{row + 1}</span>
            <ol>
              {values.slice(row * wide, (row + 1) * wide).map((value, place) => (
                <li key={place} class={value === sample.padding ? "data-token data-padding" : "data-token"} title={titleOf(value, place, sample)}>
                  {number(value)}
                  <small aria-hidden="true">{place}</small>
                </li>
              ))}
            </ol>
          </div>
        ))}
      </div>
    </>
  );
}

function titleOf(value: number, place: number, { padding, role }: Sample): string {
  const word = value !== padding ? "" : role === "target" ? ", does not count in the loss" : ", padding";
  return `position ${place}: ${number(value)}${word}`;
}

function PaddingNote({ sample, values }: { sample: Sample; values: number[] }) {
  const { padding, role } = sample;
  const many = values.filter((value) => value === padding).length;
  if (padding === null || (role === "target" && many === 0)) return null;
  const what = role === "target" ? `${padding} is the target that does not count in the loss` : `${padding} is the padding of the model's embedding`;
  return (
    <p class="data-about">
      {what}: {percent(values.length ? many / values.length : 0)} of what is shown here.
    </p>
  );
}
