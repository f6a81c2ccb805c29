import { useMemo, useRef } from "preact/hooks";
import { inksFor, stripes, type Inks } from "../../charts/heat_drawing";
import { useDrawing, useWindow } from "../../charts/heat_hooks";
import { useTheme } from "../../charts/palette";
import { number, percent } from "../../pieces/numbers";
import { spreadInWords, valueTicks, type DrawableSpread } from "./spread_words";

const HEIGHT = 200;
const LEFT = 56;

/** Looks from left to right, values from bottom to top; the lighter, the more of the values lie there. */
export function SpreadHeat({ spread }: { spread: DrawableSpread }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const inks = useMemo(() => inksFor(false), [theme]);
  const width = Math.max(0, useWindow(box).width - LEFT);
  useDrawing(canvas, width, HEIGHT, (context) => draw(context, spread, inks, width), [spread, inks]);
  const [low, high] = [spread.edges[0]!, spread.edges[spread.edges.length - 1]!];
  return (
    <div ref={box} class="layers-spread-heat" role="img" aria-label={spreadInWords(spread)}>
      {valueTicks(spread.edges).map((tick) => (
        <span key={tick} class="layers-spread-tick" style={{ top: `${HEIGHT * (1 - (tick - low) / (high - low))}px`, width: `${LEFT - 6}px` }}>
          {number(tick)}
        </span>
      ))}
      <canvas ref={canvas} style={{ width: `${width}px`, height: `${HEIGHT}px`, marginLeft: `${LEFT}px` }} />
      <div class="layers-spread-steps" style={{ marginLeft: `${LEFT}px` }}>
        <span>step {spread.steps[0]!.toLocaleString("en-US")}</span>
        <span>{spread.steps[spread.steps.length - 1]!.toLocaleString("en-US")}</span>
      </div>
      <div class="layers-spread-steps layers-spread-key" style={{ marginLeft: `${LEFT}px` }} aria-hidden="true">
        none of the values
        <span class="layers-spread-ramp" style={{ background: `linear-gradient(to right, ${inks.shades.filter((_, place) => place % 16 === 0).join(",")})` }} />
        {percent(Math.max(...spread.parts.flat()))} of them
      </div>
    </div>
  );
}

function draw(context: CanvasRenderingContext2D, spread: DrawableSpread, inks: Inks, width: number): void {
  const highest = Math.max(1e-9, ...spread.parts.flat());
  const wide = width / spread.steps.length;
  spread.parts.forEach((parts, look) => {
    const left = Math.round(look * wide);
    const right = Math.round((look + 1) * wide) - (wide > 8 ? 1 : 0);
    if (spread.not_finite[look]! >= 0.999) stripes(context, inks, left, 0, right - left, HEIGHT);
    else parts.forEach((part, bar) => fill(context, inks, part / highest, left, right, bar, parts.length));
  });
}

function fill(context: CanvasRenderingContext2D, inks: Inks, share: number, left: number, right: number, bar: number, bars: number): void {
  const top = Math.round(HEIGHT * (1 - (bar + 1) / bars));
  context.fillStyle = inks.shades[Math.round(Math.sqrt(share) * (inks.shades.length - 1))]!;
  context.fillRect(left, top, right - left, Math.round(HEIGHT * (1 - bar / bars)) - top);
}
