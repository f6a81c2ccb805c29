import { duration, percent } from "../../pieces/numbers";
import type { Part } from "./timing";

const REST = 7; // the grey of the palette

/** A time divided into its parts: one bar, and the same in words and numbers below it. */
export function Split({ parts, label }: { parts: readonly Part[]; label: string }) {
  const total = parts.reduce((sum, part) => sum + part.seconds, 0);
  if (!(total > 0)) return null;
  return (
    <div class="time-split">
      <div class="time-bar" role="img" aria-label={`${label}: ${parts.map((part) => `${part.name} ${percent(part.seconds / total)}`).join(", ")}`}>
        {parts.map((part, place) => (
          <span key={part.name} class="time-part" title={`${part.name}: ${duration(part.seconds)}`} style={{ flexGrow: (100 * part.seconds) / total, background: part.colour ? `var(${part.colour})` : colourOf(part.rest ? REST : place) }} />
        ))}
      </div>
      <ul>
        {parts.map((part, place) => (
          <li key={part.name}>
            <span class="time-swatch" style={{ background: part.colour ? `var(${part.colour})` : colourOf(part.rest ? REST : place) }} aria-hidden="true" />
            {part.name} <b>{percent(part.seconds / total)}</b> <span class="quiet">{duration(part.seconds)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function colourOf(place: number): string {
  return `var(--chart-${(place % 8) + 1})`;
}
