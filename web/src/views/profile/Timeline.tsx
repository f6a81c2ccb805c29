import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../asking";
import { useTheme } from "../../charts/palette";
import { Button } from "../../pieces/Button";
import { duration } from "../../pieces/numbers";
import { SearchField } from "../../pieces/SearchField";
import { Problem, Waiting } from "../../states";
import type { Bar, Stretch } from "./answers";
import { barInWords, KINDS, paint } from "./timeline_drawing";
import { around, barAt, bounded, heightOf, moved, placesOf, zoomed, type Sight } from "./timeline_sight";

const WAIT_MS = 90; // until what is in sight is asked for anew
const BESIDE = 0.5; // of what is in sight, on each side: there when one moves

interface Found {
  start_s: number;
  took_s: number;
}

/** All threads and streams of a trace over its time. Only as many bars as can be drawn come from the server. */
export function Timeline({ trace }: { trace: string }) {
  const [sight, setSight] = useState<Sight | null>(null); // null: all of it
  const [python, setPython] = useState(false);
  const [marked, setMarked] = useState<Bar | null>(null);
  const [words, setWords] = useState<string | null>(null);
  const { stretch, error } = useStretch(trace, sight, python);
  const whole = stretch?.whole_s ?? 0;
  const shown = sight ?? { from: 0, to: whole };
  const move = useCallback((next: Sight) => setSight(bounded(next, whole)), [whole]);
  if (error && !stretch) return <Problem text={error} />;
  if (!stretch) return <Waiting what="the timeline" />;
  const middle = (shown.from + shown.to) / 2;
  const press = (event: KeyboardEvent) => {
    const next = keyed(event.key, shown, whole);
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    setSight(next);
  };
  return (
    <section class="panel" aria-label="Timeline">
      <div class="profile-tools">
        <Button onClick={() => setSight(zoomed(shown, 0.5, middle, whole))}>Zoom in</Button>
        <Button onClick={() => setSight(zoomed(shown, 2, middle, whole))}>Zoom out</Button>
        <Button onClick={() => setSight(null)}>Show all</Button>
        <Button pressed={python} onClick={() => setPython(!python)}>
          Python functions
        </Button>
        <Search trace={trace} python={python} after={middle} onFound={(found) => setSight(around(found.start_s, found.took_s, whole))} />
      </div>
      <p class="panel-about">
        {duration(shown.to - shown.from)} of {duration(whole)}. Drag to move, Ctrl and the wheel to zoom, double click on a bar to see it alone; with the keyboard W and S zoom, A and D move, 0 shows all.
      </p>
      <Legend stretch={stretch} />
      <Canvas stretch={stretch} sight={shown} marked={marked} onSight={move} onKey={press} onPoint={(bar) => setWords(bar && barInWords(stretch, bar))} onMark={setMarked} onOpen={(bar) => setSight(around(bar[0], bar[1], whole))} />
      <p class="profile-told" aria-live="polite">
        {words ?? (marked ? barInWords(stretch, marked) : "Point at a bar to read what it is.")}
      </p>
    </section>
  );
}

/** Null: all; undefined: no key of ours. */
export function keyed(key: string, shown: Sight, whole: number): Sight | null | undefined {
  const middle = (shown.from + shown.to) / 2;
  if (key === "w" || key === "+") return zoomed(shown, 0.6, middle, whole);
  if (key === "s" || key === "-") return zoomed(shown, 1 / 0.6, middle, whole);
  if (key === "a" || key === "ArrowLeft") return moved(shown, -0.2, whole);
  if (key === "d" || key === "ArrowRight") return moved(shown, 0.2, whole);
  return key === "0" ? null : undefined;
}

/** The last stretch that came stays until the next one is there. */
function useStretch(trace: string, sight: Sight | null, python: boolean): { stretch: Stretch | null; error: string | null } {
  const [stretch, setStretch] = useState<Stretch | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const span = sight ? (sight.to - sight.from) * BESIDE : 0;
    const stretchOf = sight ? { from: Math.max(0, sight.from - span), to: sight.to + span } : {};
    const wait = setTimeout(() => {
      ask<Stretch>("trace_timeline", { trace, width: 2000, python: python ? 1 : undefined, ...stretchOf }, stop.signal)
        .then((came) => (setStretch(came), setError(null)))
        .catch((fault: Error) => stop.signal.aborted || setError(fault.message));
    }, WAIT_MS);
    return () => {
      clearTimeout(wait);
      stop.abort();
    };
  }, [trace, sight?.from, sight?.to, python]);
  return { stretch, error };
}

interface CanvasProps {
  stretch: Stretch;
  sight: Sight;
  marked: Bar | null;
  onSight: (sight: Sight) => void;
  onKey: (event: KeyboardEvent) => void;
  onPoint: (bar: Bar | null) => void;
  onMark: (bar: Bar | null) => void;
  onOpen: (bar: Bar) => void;
}

function Canvas({ stretch, sight, marked, onSight, onKey, onPoint, onMark, onOpen }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ x: number; sight: Sight; far: boolean } | null>(null);
  const width = useWidth(canvas);
  const theme = useTheme();
  const places = placesOf(stretch);
  const height = heightOf(places);
  useLayoutEffect(() => {
    if (canvas.current && width) paint(canvas.current, { stretch, places, sight, width, height, marked });
  }, [stretch, sight.from, sight.to, width, marked, theme]);
  const span = sight.to - sight.from;
  const momentOf = (x: number) => sight.from + (x / Math.max(width, 1)) * span;
  const under = (event: MouseEvent) => barAt(stretch, places, momentOf(event.offsetX), event.offsetY, (2 / Math.max(width, 1)) * span);
  useWheel(canvas, (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    onSight(zoomed(sight, event.deltaY > 0 ? 1.25 : 0.8, momentOf(event.offsetX), stretch.whole_s));
  });
  return (
    <div class="profile-lanes" role="region" aria-label="Threads and streams" tabIndex={0} onKeyDown={onKey}>
      <canvas
        ref={canvas}
        style={{ height: `${height}px` }}
        role="img"
        aria-label={`Timeline of ${stretch.lanes.map((lane) => lane.name).join(", ")}`}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, sight, far: false };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const begun = drag.current;
          if (!begun) return onPoint(under(event));
          const by = (begun.x - event.clientX) / Math.max(width, 1);
          begun.far ||= Math.abs(begun.x - event.clientX) > 3;
          if (begun.far) onSight(moved(begun.sight, by, stretch.whole_s));
        }}
        onPointerUp={(event) => {
          if (drag.current && !drag.current.far) onMark(under(event));
          drag.current = null;
        }}
        onPointerCancel={() => (drag.current = null)}
        onPointerLeave={() => onPoint(null)}
        onDblClick={(event) => {
          const bar = under(event);
          if (bar) onOpen(bar);
        }}
      />
    </div>
  );
}

/** Not by a prop: a listener that may prevent scrolling must be added as one that is not passive. */
function useWheel(place: { current: HTMLCanvasElement | null }, turned: (event: WheelEvent) => void): void {
  const last = useRef(turned);
  last.current = turned;
  useEffect(() => {
    const canvas = place.current;
    const hear = (event: WheelEvent) => last.current(event);
    canvas?.addEventListener("wheel", hear, { passive: false });
    return () => canvas?.removeEventListener("wheel", hear);
  }, []);
}

function useWidth(place: { current: HTMLCanvasElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const canvas = place.current;
    if (!canvas) return;
    const measure = () => setWidth(canvas.clientWidth);
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(canvas);
    return () => watcher.disconnect();
  }, []);
  return width;
}

function Legend({ stretch }: { stretch: Stretch }) {
  const used = new Set(stretch.lanes.flatMap((lane) => lane.bars.map((bar) => bar[4])));
  return (
    <ul class="time-legend">
      {stretch.kinds.map((kind, place) =>
        used.has(place) && KINDS[kind] ? (
          <li key={kind}>
            <span class="time-swatch" style={{ background: `var(${KINDS[kind].colour})` }} aria-hidden="true" /> {KINDS[kind].title}
          </li>
        ) : null,
      )}
    </ul>
  );
}

interface SearchProps {
  trace: string;
  python: boolean;
  after: number;
  onFound: (found: Found) => void;
}

function Search({ trace, python, after, onFound }: SearchProps) {
  const [typed, setTyped] = useState("");
  const [none, setNone] = useState(false);
  const next = () =>
    void ask<{ found: Found | null }>("trace_timeline", { trace, find: typed, after, python: python ? 1 : undefined }).then(({ found }) => {
      setNone(found === null);
      if (found) onFound(found);
    });
  return (
    <form class="profile-find" onSubmit={(event) => (event.preventDefault(), typed && next())}>
      <SearchField label="Find" value={typed} onInput={(text) => (setTyped(text), setNone(false))} placeholder="name of a bar" problem={none ? "No bar has that name." : null} />
      <Button onClick={() => typed && next()}>Next</Button>
    </form>
  );
}
