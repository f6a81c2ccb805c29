// What stands below a sample: its target, where there is one for each.
import { toNumber } from "../../answers";
import { number } from "../../pieces/numbers";
import type { Heading, Sample } from "./answers";

/** For each sample that was kept of an input; null where its target is not a thing that fits below it. */
export function labelsOf(input: Heading, tensors: readonly Sample[], classes: readonly string[] = []): (string | null)[] {
  const target = tensors.find((each) => each.role === "target" && each.shape[0] === input.shape[0] && each.numbers !== undefined);
  return Array.from({ length: input.kept[0] ?? 0 }, (_, place) => (target ? labelOf(target, place, classes) : null));
}

function labelOf(target: Sample, place: number, classes: readonly string[]): string | null {
  const [rows = 0, wide = 1] = target.kept;
  if (place >= rows || target.kept.length > 2) return null;
  const row = (target.numbers ?? []).slice(place * wide, (place + 1) * wide).map(toNumber);
  if (target.kind === "values" || row.length === 1) return word(target, row[0] ?? NaN, classes);
  if (row.every((value) => value === 0 || value === 1)) return hot(row, classes);
  return row.length <= 3 ? row.map((value) => number(value)).join(", ") : null;
}

function word(target: Sample, value: number, classes: readonly string[]): string {
  return /^Nll|^BinaryCrossEntropy/.test(target.name) ? (classes[value] ?? `class ${number(value)}`) : number(value);
}

/** Several classes at once. */
function hot(row: number[], classes: readonly string[]): string {
  const on = row.flatMap((value, place) => (value === 1 ? [place] : []));
  if (on.length === 0) return "no class";
  const shown = on.slice(0, 6).map((place) => classes[place] ?? place).join(", ");
  return classes.length ? shown : `${on.length === 1 ? "class" : "classes"} ${shown}${on.length > 6 ? ` and ${on.length - 6} more` : ""}`;
}
