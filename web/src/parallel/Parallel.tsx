import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Num } from "../answers";
import { writeLink } from "../links";
import { Details } from "../pieces/Details";
import { number } from "../pieces/numbers";
import { Table } from "../pieces/Table";
import { axisOf, type AxisValue } from "./axes";
import { AxisMark, HEIGHT, RunLine } from "./marks";
import "./parallel.css";

export interface ParallelRun {
  name: string;
  title: string;
  values: Record<string, AxisValue>;
  /** Its place in the palette, where a chart beside this one draws it too. */
  colour?: number;
}

interface Props {
  /** The last one colours the lines that have no colour of their own. */
  axes: readonly string[];
  runs: readonly ParallelRun[];
}

const MOST_LINES = 1000;
const LEAST_GAP = 110;

/** Runs as lines through their values on axes side by side; the same as a table for those who prefer to read. */
export function Parallel({ axes, runs }: Props) {
  const [box, width] = useWidth();
  const [pointed, setPointed] = useState<string | null>(null);
  const shown = runs.slice(0, MOST_LINES);
  const scales = useMemo(() => axes.map((name) => axisOf(name, shown.map((run) => run.values[name]))), [axes, runs]);
  const wide = Math.max(width, axes.length * LEAST_GAP);
  const x = (place: number) => 50 + (place * (wide - 100)) / Math.max(1, axes.length - 1);
  const named = shown.find((run) => run.name === pointed);
  return (
    <div class="parallel">
      <div class="parallel-box" ref={box} role="region" aria-label="Parallel coordinates" tabIndex={0}>
        <svg width={wide} height={HEIGHT} role="img" aria-label={`${shown.length} runs over ${axes.join(", ")}. The table below has the same numbers.`} onMouseLeave={() => setPointed(null)}>
          {shown.map((run) => (
            <RunLine key={run.name} run={run} axes={axes} scales={scales} x={x} pointed={pointed === run.name} onPoint={() => setPointed(run.name)} />
          ))}
          {scales.map((axis, place) => (
            <AxisMark key={axis.name} axis={axis} x={x(place)} side={place === 0 ? "start" : place === scales.length - 1 ? "end" : "middle"} />
          ))}
        </svg>
      </div>
      <p class="parallel-said" aria-live="polite">
        {named ? [named.title, ...axes.map((name) => `${name} ${said(named.values[name])}`)].join(", ") : "Point at a line to see which run it is."}
        {runs.length > MOST_LINES ? ` The first ${MOST_LINES.toLocaleString("en-US")} of ${runs.length.toLocaleString("en-US")} runs are drawn.` : ""}
      </p>
      <Details summary="The same as a table">
        <Table caption="Runs and their values" rows={shown.slice(0, 200)} columns={[{ title: "Run", cell: (run: ParallelRun) => <a href={writeLink({ view: "verdict", parameters: { run: run.name } })}>{run.title}</a> }, ...axes.map((name) => ({ title: name, numeric: true, cell: (run: ParallelRun) => said(run.values[name]) }))]} />
      </Details>
    </div>
  );
}

function said(value: AxisValue): string {
  if (value === null || value === undefined) return "not known";
  return typeof value === "number" || value === "nan" || value === "inf" || value === "-inf" ? number(value as Num) : String(value);
}

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watcher = new ResizeObserver(() => setWidth(element.clientWidth));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return [box, width] as const;
}
