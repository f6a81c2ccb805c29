import { useEffect, useRef, useState } from "preact/hooks";
import type { Range } from "../../charts/lines";
import { choose } from "../../links";
import { writeZooms, type Zooms } from "./zoom_links";

const PAUSE_MS = 250; // browsers refuse an address that changes with every turn of the wheel

/** What each chart shows, and how that is changed. */
export interface Zoomer {
  rangeOf: (tag: string) => Range | null;
  setRange: (tag: string, range: Range | null) => void;
  /** Of the large chart. */
  y: Range | null;
  setY: (range: Range | null) => void;
  zoomed: boolean;
  showAll: () => void;
}

/** At once in the page, and a moment later in the address. `apart`: every chart has its own range of x. */
export function useZoomer(linked: Zooms, apart: boolean): Zoomer {
  const [zooms, change] = useLinked(linked);
  const { shared, own, y } = zooms;
  const setOwn = (tag: string, range: Range | null) => {
    const { [tag]: _, ...others } = own;
    return range ? { ...others, [tag]: range } : others;
  };
  return {
    rangeOf: (tag) => (apart ? (own[tag] ?? null) : shared),
    setRange: (tag, range) => change(apart ? { own: setOwn(tag, range && shortened(range)) } : { shared: range && shortened(range) }),
    y,
    setY: (range) => change({ y: range }),
    zoomed: (apart ? Object.keys(own).length > 0 : shared !== null) || y !== null,
    showAll: () => change({ shared: null, own: {}, y: null }),
  };
}

function useLinked(linked: Zooms): [Zooms, (changes: Partial<Zooms>) => void] {
  const [zooms, setZooms] = useState(linked);
  const latest = useRef(linked); // two changes may come before the page is drawn again
  const key = JSON.stringify(linked);
  const written = useRef(key);
  const timer = useRef(0);
  const set = (next: Zooms) => {
    latest.current = next;
    setZooms(next);
  };
  useEffect(() => {
    if (key === written.current) return;
    written.current = key;
    set(linked);
  }, [key]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (changes: Partial<Zooms>) => {
    set({ ...latest.current, ...changes });
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      written.current = JSON.stringify(latest.current);
      choose(writeZooms(latest.current));
    }, PAUSE_MS);
  };
  return [zooms, change];
}

/** No more digits than can be seen: a thousandth of a pixel. */
function shortened([low, high]: Range): Range {
  const digits = Math.min(12, Math.max(0, 6 - Math.floor(Math.log10(high - low))));
  const [from, to] = [Number(low.toFixed(digits)), Number(high.toFixed(digits))];
  return from < to ? [from, to] : [low, high];
}
