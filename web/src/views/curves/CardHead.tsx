import { isReport } from "../../asking";
import { choose } from "../../links";
import type { SharedChart } from "./chart_lines";
import { writeList } from "./choices";
import { useClosing } from "./closing";
import { saveCsv, savePng, saveSvg, type Saved } from "./saving";

interface HeadProps {
  tag: string;
  /** What there is to know of how it was measured and drawn. */
  notes: string[];
  runs: string[];
  large: boolean;
  pins: ReadonlySet<string>;
  /** Of several tags: then there is no single table of points, and a pin would name no tag. */
  chart: SharedChart | undefined;
  saved: () => Saved | null;
}

export function CardHead({ tag, notes, runs, large, pins, saved, chart }: HeadProps) {
  const pinned = pins.has(tag);
  const pin = () => choose({ pins: writeList(pinned ? [...pins].filter((each) => each !== tag) : [...pins, tag]) });
  const Title = large ? "h2" : "h3";
  return (
    <div class="curves-head">
      <Title title={[tag, ...notes].join("\n")}>
        {chart?.title ?? tag}
        {notes.map((note) => (
          <small key={note}> {note}</small>
        ))}
      </Title>
      {chart ? null : (
        <button type="button" aria-pressed={pinned} onClick={pin} aria-label={`Pin ${tag}`}>
          {pinned ? "Pinned" : "Pin"}
        </button>
      )}
      {large ? null : (
        <button type="button" onClick={() => choose({ tag }, false)} aria-label={`Larger view of ${tag}`}>
          Larger
        </button>
      )}
      <SaveMenu {...{ tag, runs, saved, chart }} />
    </div>
  );
}

function SaveMenu({ tag, runs, saved, chart }: Pick<HeadProps, "tag" | "runs" | "saved" | "chart">) {
  const { place, onToggle, close } = useClosing();
  const save = (how: (what: Saved) => void) => () => {
    const what = saved();
    if (what) how(what);
    close();
  };
  return (
    <details class="curves-menu" ref={place} onToggle={onToggle}>
      <summary aria-label={`Save ${tag}`}>Save</summary>
      <div>
        <button type="button" onClick={save((what) => void savePng(what))}>Picture (PNG)</button>
        <button type="button" onClick={save(saveSvg)}>Drawing (SVG)</button>
        {isReport() || chart ? null : <button type="button" onClick={() => (saveCsv(runs, tag), close())}>Every point (CSV)</button>}
      </div>
    </details>
  );
}
