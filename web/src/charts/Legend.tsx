import { placesIn } from "./in_sight";
import type { Line, Points, Range, XAxis } from "./lines";
import { nearest } from "./merging";
import { countsInWords, countsOf, kindOf, measured } from "./notfinite";
import { clock, duration, shortNumber } from "./numbers";
import { dashOf, paletteName } from "./palette";

interface LegendProps {
  lines: Line[];
  hidden: ReadonlySet<string>;
  x: XAxis;
  /** Where the crosshair is; null: the last value of each line is told. */
  at: number | null;
  /** What of x is shown; null: all. */
  sight: Range | null;
  logY: boolean;
  onToggle: (name: string) => void;
  onPoint: (name: string | null) => void;
}

/** What each line is at the crosshair. With several lines each can be pointed at and switched off. */
export function Legend(props: LegendProps) {
  const { lines, x, at, sight } = props;
  const last = sight ? "last in sight" : "last";
  return (
    <div class="chart-legend">
      <span class="chart-at">{at === null ? last : `${x.name} ${xInWords(x, nearestX(lines, at))}`}</span>
      <ul>
        {lines.map((line, place) => (
          <Entry key={line.name} {...props} line={line} place={place} />
        ))}
      </ul>
    </div>
  );
}

function Entry({ line, place, lines, hidden, at, sight, logY, onToggle, onPoint }: LegendProps & { line: Line; place: number }) {
  const off = hidden.has(line.name);
  const odd = countsInWords(countsOf(line), sight !== null);
  const below = logY ? countBelow(line) : 0;
  const told = (
    <>
      <Swatch colour={line.colour ?? place} />
      {lines.length > 1 ? <span class="chart-name">{line.name}</span> : null}
      <span class="chart-value">{valueAt(line, at, sight, lines.length === 1)}</span>
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
  const dash = dashOf(colour).join(" ");
  return (
    <svg class="chart-swatch" viewBox="0 0 18 4" aria-hidden="true">
      <path d="M0 2h18" stroke={`var(${paletteName(colour)})`} stroke-width="3" stroke-dasharray={dash || undefined} />
    </svg>
  );
}

export function xInWords(x: XAxis, value: number): string {
  if (x.kind === "duration") return duration(value);
  return x.kind === "clock" ? clock(value) : shortNumber(value, 7);
}

function nearestX(lines: Line[], at: number): number {
  const found = lines.map(({ x }) => x[nearest(x, at)]).filter((x): x is number => x !== undefined);
  return found.reduce((best, x) => (Math.abs(x - at) < Math.abs(best - at) ? x : best), found[0] ?? at);
}

/** The raw value too where there is room for it: beside a single line. A line that ends with NaN says so. */
function valueAt(line: Line, at: number | null, sight: Range | null, withRaw: boolean): string {
  const raw = pick(measured(line), at, sight);
  if (raw === undefined) return "no point";
  if (at === null && kindOf(raw)) return shortNumber(raw);
  const value = pick(line, at, sight) ?? raw;
  return `${shortNumber(value)}${bandAt(line, at, sight)}${line.raw && withRaw ? ` (raw ${shortNumber(raw)})` : ""}`;
}

function bandAt({ x, low, high }: Line, at: number | null, sight: Range | null): string {
  if (!low || !high) return "";
  const [bottom, top] = [pick({ x, y: low }, at, sight), pick({ x, y: high }, at, sight)];
  return bottom === undefined || top === undefined ? "" : ` ± ${shortNumber((top - bottom) / 2, 3)}`;
}

/** Without a place: the last one in sight. */
function pick({ x, y }: Points, at: number | null, sight: Range | null): number | undefined {
  const [from, behind] = at === null ? placesIn(x, sight) : [0, nearest(x, at) + 1];
  return behind > from ? y[behind - 1] : undefined;
}

function countBelow(line: Line): number {
  const { y } = measured(line);
  let count = 0;
  for (let place = 0; place < y.length; place++) if (Number.isFinite(y[place]!) && y[place]! <= 0) count += 1;
  return count;
}
