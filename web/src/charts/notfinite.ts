import type { Line, NotFiniteCounts, Points } from "./lines";

export type Kind = keyof NotFiniteCounts;

export const KIND_NAMES: Record<Kind, string> = { nan: "NaN", inf: "+Inf", "-inf": "-Inf" };

export function kindOf(value: number): Kind | null {
  if (Number.isFinite(value)) return null;
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

export function countNotFinite({ y }: Pick<Points, "y">): NotFiniteCounts {
  const counts = { nan: 0, inf: 0, "-inf": 0 };
  for (let i = 0; i < y.length; i++) {
    const kind = kindOf(y[i]!);
    if (kind) counts[kind] += 1;
  }
  return counts;
}

/** What was measured: behind a smoothed line, the line before it was. */
export function measured(line: Line): Points {
  return line.raw ?? line;
}

export function countsOf(line: Line): NotFiniteCounts {
  return line.counts ?? countNotFinite(measured(line));
}

/** "3 NaN, 1 +Inf", or nothing; "in all" where only a part of them is in sight. */
export function countsInWords(counts: NotFiniteCounts, inAll = false): string {
  const kinds = (Object.keys(KIND_NAMES) as Kind[]).filter((kind) => counts[kind] > 0);
  const told = kinds.map((kind) => `${counts[kind]} ${KIND_NAMES[kind]}`).join(", ");
  return told && inAll ? `${told} in all` : told;
}
