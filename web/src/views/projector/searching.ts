import { placeOf, type Embedding } from "./answers";

/** The rows of which a label holds all words of the search, or whose number it is; null without a search. */
export function matching(embedding: Embedding, said: string): Set<number> | null {
  const words = said.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const found = new Set<number>();
  for (const column of embedding.columns) {
    const fits = column.labels.map((label) => words.every((word) => label.toLowerCase().includes(word)));
    column.of.forEach((number, row) => fits[number] && found.add(row));
  }
  const place = words.length === 1 ? Number(words[0]) : NaN;
  if (Number.isInteger(place)) for (let row = 0; row < embedding.points; row++) if (placeOf(embedding, row) === place) found.add(row);
  return found;
}
