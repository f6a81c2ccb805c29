import type { Line, XAxis } from "./lines";
import { nearest } from "./merging";
import { countsInWords, countsOf, measured } from "./notfinite";
import { clock, duration, shortNumber } from "./numbers";
import { paletteName } from "./palette";

interface LegendProps {
  lines: Line[];
  hidden: ReadonlySet<string>;
  x: XAxis;
  /** Where the crosshair is; null: the last value of each line is told. */
  at: number | null;
  logY: boolean;
  onToggle: (name: string) => void;
  onPoint: (name: string | null) => void;
}

/** What each line is at the crosshair. With several lines each can be pointed at and switched off. */
export function Legend(props: LegendProps) {
  const { lines, x, at } = props;
  return (
    <div class="chart-legend">
      <span class="chart-at">{at === null ? "last" : `${x.name} ${xInWords(x, nearestX(lines, at))}`}</span>
      <ul>
        {lines.map((line, place) => (
          <Entry key={line.name} {...props} line={line} place={place} />
        ))}
      </ul>
    </div>
  );
}

function Entry({ line, place, lines, hidden, at, logY, onToggle, onPoint }: LegendProps & { line: Line; place: number }) {
  const off = hidden.has(line.name);
  const odd = countsInWords(countsOf(line));
  const below = logY ? countBelow(line) : 0;
  const told = (
    <>
      <Swatch colour={line.colour ?? place} />
      {lines.length > 1 ? <span class="chart-name">{line.name}</span> : null}
      <span class="chart-value">{valueAt(line, at, lines.length === 1)}</span>
      {odd ? <span class="chart-odd">{odd}</span> : null}
      {below ? <span class="quiet">{shortNumber(below)} not above zero, not drawn</span> : null}
    </>
  );
  if (lines.length === 1) return <li title={line.name}>{told}</li>;
  return (
    <li class={off ? "chart-off" : ""}>
      <button
        type="button"
        title={line.name}
        aria-pressed={!off}
        onClick={() => onToggle(line.name)}
        onMouseEnter={() => onPoint(line.name)}
        onMouseLeave={() => onPoint(null)}
        onFocus={() => onPoint(line.name)}
        onBlur={() => onPoint(null)}
      >
        {told}
      </button>
    </li>
  );
}

export function Swatch({ colour }: { colour: number | string }) {
  return <span class="chart-swatch" style={{ background: `var(${paletteName(colour)})` }} aria-hidden="true" />;
}

export function xInWords(x: XAxis, value: number): string {
  if (x.kind === "duration") return duration(value);
  return x.kind === "clock" ? clock(value) : shortNumber(value, 7);
}

function nearestX(lines: Line[], at: number): number {
  const found = lines.map(({ x }) => x[nearest(x, at)]).filter((x): x is number => x !== undefined);
  return found.reduce((best, x) => (Math.abs(x - at) < Math.abs(best - at) ? x : best), found[0] ?? at);
}

/** The raw value too where there is room for it: beside a single line. */
function valueAt(line: Line, at: number | null, withRaw: boolean): string {
  const value = pick(line, at);
  const raw = line.raw && withRaw ? pick(line.raw, at) : undefined;
  const band = line.low && line.high ? ` ± ${shortNumber((pick({ x: line.x, y: line.high }, at)! - pick({ x: line.x, y: line.low }, at)!) / 2, 3)}` : "";
  return `${shortNumber(value)}${band}${raw === undefined ? "" : ` (raw ${shortNumber(raw)})`}`;
}

function pick({ x, y }: Pick<Line, "x" | "y">, at: number | null): number | undefined {
  return y[at === null ? x.length - 1 : nearest(x, at)];
}

function countBelow(line: Line): number {
  const { y } = measured(line);
  let count = 0;
  for (let place = 0; place < y.length; place++) if (Number.isFinite(y[place]!) && y[place]! <= 0) count += 1;
  return count;
}
