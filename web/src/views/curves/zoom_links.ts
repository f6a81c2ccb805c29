// What the charts are zoomed to, as it stands in the address: a link shows the sight it was copied from.
import type { Range } from "../../charts/lines";

export interface Zooms {
  /** Of x, where all charts zoom together. */
  shared: Range | null;
  /** Of x, by tag, where every chart zooms by itself. */
  own: Readonly<Record<string, Range>>;
  /** Of y, in the large chart; in the grid y follows what is in sight. */
  y: Range | null;
}

type Parameters = Record<string, string | undefined>;

export const NO_ZOOM: Parameters = { from: undefined, to: undefined, zooms: undefined, low: undefined, high: undefined };

export function readZooms(chosen: Parameters): Zooms {
  return { shared: readRange(chosen.from, chosen.to), own: readOwn(chosen.zooms), y: readRange(chosen.low, chosen.high) };
}

export function writeZooms({ shared, own, y }: Zooms): Parameters {
  return {
    from: shared ? String(shared[0]) : undefined,
    to: shared ? String(shared[1]) : undefined,
    zooms: Object.keys(own).length ? JSON.stringify(own) : undefined,
    low: y ? String(y[0]) : undefined,
    high: y ? String(y[1]) : undefined,
  };
}

function readRange(from: unknown, to: unknown): Range | null {
  const [low, high] = [Number.parseFloat(String(from)), Number.parseFloat(String(to))];
  return low < high ? [low, high] : null;
}

function readOwn(text: string | undefined): Record<string, Range> {
  const found: Record<string, Range> = {};
  for (const [tag, ends] of Object.entries(parsed(text))) {
    const range = Array.isArray(ends) ? readRange(ends[0], ends[1]) : null;
    if (range) found[tag] = range;
  }
  return found;
}

function parsed(text: string | undefined): object {
  try {
    const told: unknown = JSON.parse(text ?? "{}");
    return typeof told === "object" && told !== null ? told : {};
  } catch {
    return {}; // written by hand, or cut
  }
}
