import type { LedgerRow } from "./answers";
import { sayValue } from "./words";

const GRADIENTS = { none: "no gradient", zero: "gradient of zeros", nonzero: "has a gradient", notfinite: "gradient not finite" } as const;

/** The parameters of a layer as they were at the last look. */
export function Ledger({ rows }: { rows: LedgerRow[] }) {
  if (!rows.length) return <p class="quiet">This layer has no parameters of its own.</p>;
  const looked = Math.max(...rows.map((row) => row.looked_at ?? 0));
  return (
    <>
      <p class="layers-says">{looked ? `As they were at the last look, step ${looked.toLocaleString("en-US")}.` : "No look was taken at these parameters."}</p>
      <ul class="layers-ledger">
        {rows.map((row) => (
          <Parameter key={row.name} row={row} />
        ))}
      </ul>
    </>
  );
}

function Parameter({ row }: { row: LedgerRow }) {
  const facts: [string, string][] = [
    ["Norm", sayValue(row.weight_norm ?? null, "")],
    ["Gradient norm", sayValue(row.grad_norm ?? null, "")],
    ["Update / weight", sayValue(row.ratio ?? null, "")],
    ["Last seen to change", changed(row)],
    ["Trained by", owner(row)],
    ["State", state(row)],
  ];
  return (
    <li>
      <code title={row.name}>{row.name.split(".").pop()}</code> <span class="quiet">{shape(row)}</span>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

export function shape(row: LedgerRow): string {
  return `${row.shape.length ? row.shape.join(" × ") : "one number"}, ${row.dtype} on ${row.device}`;
}

export function changed(row: LedgerRow): string {
  if (row.changed_at !== undefined) return `step ${row.changed_at.toLocaleString("en-US")}`;
  return row.compared_at === undefined ? "not measured" : `never, up to step ${row.compared_at.toLocaleString("en-US")}`;
}

export function state(row: LedgerRow): string {
  const trainable = row.trainable ? "trainable" : "frozen";
  return row.gradient ? `${trainable}, ${GRADIENTS[row.gradient]}` : trainable;
}

export function owner(row: LedgerRow): string {
  if (!row.optimizer) return "no optimizer";
  const group = (row.groups ?? 1) > 1 ? (row.group === undefined ? `, one of ${row.groups} groups` : `, group ${row.group}`) : "";
  const rate = row.lr === undefined ? "" : `, lr ${sayValue(row.lr, "")}`;
  return `${row.optimizer} (${row.optimizer_kind})${group}${rate}`;
}
