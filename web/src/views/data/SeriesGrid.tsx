import { Fragment } from "preact";
import { toNumber } from "../../answers";
import { count, number } from "../../pieces/numbers";
import type { Sample } from "./answers";

const WIDE = 240;
const HIGH = 28;

/** Each sample of a series: one strip a channel, all on the scale of the whole batch. */
export function SeriesGrid({ sample }: { sample: Sample }) {
  const [samples = 0, channels = 0, length = 0] = sample.kept;
  const values = (sample.numbers ?? []).map(toNumber);
  const channel = (place: number, which: number) => values.slice((place * channels + which) * length, (place * channels + which + 1) * length);
  return (
    <ul class="data-series">
      {Array.from({ length: samples }, (_, place) => (
        <li key={place}>
          <span class="data-caption quiet">sample {place + 1}</span>
          <div class="data-strips">
            {Array.from({ length: channels }, (_, which) => (
              <Fragment key={which}>
                <span class="data-strip-range" aria-hidden="true">
                  <span>{number(sample.high)}</span>
                  <span>{number(sample.low)}</span>
                </span>
                <Strip values={channel(place, which)} low={toNumber(sample.low)} high={toNumber(sample.high)} name={`Sample ${place + 1}, channel ${which + 1}`} />
              </Fragment>
            ))}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Strip({ values, low, high, name }: { values: number[]; low: number; high: number; name: string }) {
  const finite = values.filter(Number.isFinite);
  const label = finite.length ? `${name}: from ${number(Math.min(...finite))} to ${number(Math.max(...finite))}` : `${name}: no finite number`;
  return (
    <svg class="data-strip" viewBox={`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label={`${label}, ${count(values.length, "number")}`}>
      <title>{label}</title>
      <path d={pathOf(values, low, high)} />
      {values.map((value, place) => (Number.isFinite(value) ? null : <line key={place} class="data-odd" x1={x(place, values.length)} x2={x(place, values.length)} y1={0} y2={HIGH} />))}
    </svg>
  );
}

function x(place: number, length: number): number {
  return length > 1 ? (place / (length - 1)) * WIDE : WIDE / 2;
}

/** A line with a gap wherever a number is not finite. */
export function pathOf(values: readonly number[], low: number, high: number): string {
  let open = false;
  return values
    .map((value, place) => {
      if (!Number.isFinite(value)) {
        open = false;
        return "";
      }
      const y = HIGH - 1 - ((value - low) / (high - low || 1)) * (HIGH - 2);
      const mark = `${open ? "L" : "M"}${x(place, values.length).toFixed(1)},${y.toFixed(1)}`;
      open = true;
      return mark;
    })
    .join("");
}
