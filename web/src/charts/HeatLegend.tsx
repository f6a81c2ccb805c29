import { useLayoutEffect, useRef } from "preact/hooks";
import { dots, stripes, type Inks } from "./heat_drawing";
import "./heat_map.css";
import { barTicks, clipping, type HeatRange } from "./heat_scale";

interface Props {
  range: HeatRange | null;
  inks: Inks;
  say: (value: number) => string;
  /** What the bar measures: the number's name and unit. */
  name: string;
}

const FORMS = { linear: "even scale", log: "logarithmic scale", diverging: "zero in the middle" };

/** The bar of colours with its numbers, and what is no number. */
export function HeatLegend({ range, inks, say, name }: Props) {
  const clipped = range ? clipping(range, say) : "";
  return (
    <div class="heat-legend">
      {range ? (
        <div class="heat-bar">
          <span>
            {name}, {FORMS[range.form]}
          </span>
          <Swatch width={256} draw={(context) => inks.shades.forEach((shade, place) => paint(context, shade, place))} deps={[inks]} />
          <div class="heat-bar-ticks">
            {barTicks(range).map((tick, place) => (
              <span key={place}>{say(tick)}</span>
            ))}
          </div>
        </div>
      ) : null}
      <Key word="NaN or infinite" inks={inks} draw={(context) => stripes(context, inks, 0, 0, 22, 13)} />
      <Key word="not measured" inks={inks} draw={(context) => dots(context, inks.quiet, 0, 0, 22, 13)} />
      {clipped ? <span>{clipped}</span> : null}
    </div>
  );
}

function paint(context: CanvasRenderingContext2D, shade: string, place: number): void {
  context.fillStyle = shade;
  context.fillRect(place, 0, 1, 20);
}

function Key({ word, inks, draw }: { word: string; inks: Inks; draw: (context: CanvasRenderingContext2D) => void }) {
  return (
    <span class="heat-key">
      <Swatch width={22} draw={draw} deps={[inks]} /> {word}
    </span>
  );
}

function Swatch({ width, draw, deps }: { width: number; draw: (context: CanvasRenderingContext2D) => void; deps: unknown[] }) {
  const place = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = place.current?.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, width, 20);
    draw(context);
  }, deps);
  return <canvas ref={place} width={width} height={width > 22 ? 20 : 13} aria-hidden="true" />;
}
