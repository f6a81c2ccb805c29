import type { Called } from "./call_tree";

export type SortKey = "name" | "calls" | "own_s" | "total_s" | "spot";

export interface Sort {
  by: SortKey;
  down: boolean;
}

export function readSort(text: string | undefined): Sort {
  const [by = "", way] = (text ?? "").split(" ");
  const known: SortKey[] = ["name", "calls", "own_s", "total_s", "spot"];
  return known.includes(by as SortKey) ? { by: by as SortKey, down: way !== "up" } : { by: "own_s", down: true };
}

/** A second press turns it around; numbers begin with the largest, words with A. */
export function pressed(sort: Sort, by: SortKey): string {
  const down = sort.by === by ? !sort.down : by !== "name" && by !== "spot";
  return `${by} ${down ? "down" : "up"}`;
}

export function sorted(rows: readonly Called[], { by, down }: Sort): Called[] {
  const way = down ? -1 : 1;
  return [...rows].sort((one, other) => way * compared(one, other, by) || one.place - other.place);
}

/** Every word, anywhere in the function or its file, in any case. */
export function matching(rows: readonly Called[], typed: string): Called[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => words.every((word) => `${row.name} ${row.file}`.toLowerCase().includes(word)));
}

function compared(one: Called, other: Called, by: SortKey): number {
  if (by === "name") return one.name.localeCompare(other.name);
  if (by === "spot") return one.file.localeCompare(other.file) || one.line - other.line;
  return one[by] - other[by];
}
