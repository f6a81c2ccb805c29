// What is chosen in this view, as it stands in the address.
import { readZooms, type Zooms } from "./zoom_links";

export interface Choices {
  filter: string;
  smoothing: number;
  x: string;
  logX: boolean;
  /** null: nobody has chosen, and the values of each chart decide. */
  logY: boolean | null;
  /** Other runs that are drawn with this one. */
  others: string[];
  /** The hyperparameter by which the runs are grouped. */
  by: string;
  pinned: ReadonlySet<string>;
  closed: ReadonlySet<string>;
  /** Every chart zooms by itself. */
  apart: boolean;
  tag: string;
  zooms: Zooms;
}

export const SMOOTHING = 0.6;

export function readChoices(chosen: Record<string, string>): Choices {
  const x = chosen.x ?? "step";
  return {
    filter: chosen.q ?? "",
    smoothing: readSmoothing(chosen.smooth),
    x,
    logX: chosen.logx === "1" && canBeLog(x),
    logY: chosen.logy === undefined ? null : chosen.logy === "1",
    others: readList(chosen.runs),
    by: chosen.by ?? "",
    pinned: new Set(readList(chosen.pins)),
    closed: new Set(readList(chosen.closed)),
    apart: chosen.apart === "1",
    tag: chosen.tag ?? "",
    zooms: readZooms(chosen),
  };
}

/** The clock has no zero that a logarithm could count from. */
export function canBeLog(x: string): boolean {
  return x !== "time";
}

function readSmoothing(text: string | undefined): number {
  const said = Number.parseFloat(text ?? "");
  return Number.isFinite(said) ? Math.min(0.99, Math.max(0, said)) : SMOOTHING;
}

/** Names with commas between them; as JSON where a name has a comma itself. */
export function writeList(names: Iterable<string>): string {
  const all = [...names];
  const plain = all.every((name) => name !== "" && !name.includes(",") && !name.startsWith("["));
  return plain ? all.join(",") : JSON.stringify(all);
}

export function readList(text: string | undefined): string[] {
  if (!text) return [];
  if (!text.startsWith("[")) return text.split(",").filter(Boolean);
  try {
    const names: unknown = JSON.parse(text);
    return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}
