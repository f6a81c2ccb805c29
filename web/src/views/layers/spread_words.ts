// A spread in words, and what of it can be drawn.
import { number, percent } from "../../pieces/numbers";
import type { Spread } from "./answers";

export type DrawableSpread = Required<Spread>;

export function isDrawable(spread: Spread): spread is DrawableSpread {
  return spread.edges !== undefined && spread.steps.length > 0;
}

/** The value below which half of them lie, as far as the bars tell; NaN where nothing is finite. */
export function middle(edges: readonly number[], parts: readonly number[]): number {
  const whole = parts.reduce((sum, part) => sum + part, 0);
  let sum = 0;
  for (let bar = 0; bar < parts.length; bar++) {
    const part = parts[bar]!;
    if (part > 0 && sum + part >= whole / 2) return edges[bar]! + ((whole / 2 - sum) / part) * (edges[bar + 1]! - edges[bar]!);
    sum += part;
  }
  return NaN;
}

export function spreadInWords(spread: DrawableSpread): string {
  const told = [0, spread.steps.length - 1].map((look) => lookInWords(spread, look));
  const looks = spread.steps.length === 1 ? told.slice(0, 1) : told;
  return `Spread of ${spread.name} at ${spread.steps.length} looks. ${looks.join(" ")}`;
}

export function lookInWords({ steps, edges, parts, not_finite }: DrawableSpread, look: number): string {
  const odd = not_finite[look]! > 0 ? `, ${percent(not_finite[look])} NaN or infinite` : "";
  const half = middle(edges, parts[look]!);
  const where = Number.isNaN(half) ? "" : `: half of the values lie below ${number(Number(half.toPrecision(3)))}`;
  return `Step ${steps[look]!.toLocaleString("en-US")}${where}${odd}.`;
}

/** Round numbers between the ends of what is drawn. */
export function valueTicks(edges: readonly number[], most = 5): number[] {
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = power * ([1, 2, 5, 10].find((factor) => (high - low) / (factor * power) <= most) ?? 10);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, place) => Number(((first + place) * step).toPrecision(6)));
}
