import { abbreviate } from "./abbreviations";
import "./heat_map.css";

export interface HeatMark {
  severity: "error" | "warning" | "note";
  words: string;
}

interface Props {
  rows: readonly string[];
  marks: ReadonlyMap<number, HeatMark>;
  opened: string | null;
  onOpen: (row: number) => void;
  first: number;
  last: number;
  width: number;
  rowHeight: number;
  /** The size of the page's letters, in pixels. */
  letter: number;
}

const SIGNS = { error: "■", warning: "▲", note: "●" } as const;
const LETTER = 0.475; // the width of one, in sizes of the page's letters
const MARGIN = 1.7;

/** The names of the rows in sight, with the mark of a finding before them. */
export function HeatLabels({ rows, marks, opened, onOpen, first, last, width, rowHeight, letter }: Props) {
  const letters = Math.max(6, Math.floor((width / letter - MARGIN) / LETTER));
  return (
    <>
      {rows.slice(first, last).map((name, place) => {
        const row = first + place;
        const mark = marks.get(row);
        return (
          <button
            key={name}
            type="button"
            class="heat-label"
            tabIndex={-1}
            data-walk=""
            aria-current={name === opened ? "true" : undefined}
            title={mark ? `${name}: ${mark.words}` : name}
            style={{ top: `${row * rowHeight}px`, width: `${width}px`, height: `${rowHeight}px` }}
            onClick={() => onOpen(row)}
          >
            <span class={`heat-mark ${mark ? `heat-mark-${mark.severity}` : ""}`}>
              {mark ? SIGNS[mark.severity] : ""}
              {mark ? <span class="unseen">{mark.words}</span> : null}
            </span>
            {abbreviate(name, letters)}
          </button>
        );
      })}
    </>
  );
}
