import { useEffect, useRef, useState } from "preact/hooks";
import type { Range } from "../../charts/lines";
import { choose } from "../../links";

const PAUSE_MS = 250; // browsers refuse an address that changes with every turn of the wheel

/** The zoom that all charts share: at once in the page, and a moment later in the address. */
export function useSharedZoom(linked: Range | null): [Range | null, (range: Range | null) => void] {
  const [range, setRange] = useState(linked);
  const written = useRef(keyOf(linked));
  const timer = useRef(0);
  const key = keyOf(linked);
  useEffect(() => {
    if (key === written.current) return;
    written.current = key;
    setRange(linked);
  }, [key]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const set = (wanted: Range | null) => {
    const next = wanted && shortened(wanted);
    setRange(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      written.current = keyOf(next);
      choose({ from: next ? String(next[0]) : undefined, to: next ? String(next[1]) : undefined });
    }, PAUSE_MS);
  };
  return [range, set];
}

function keyOf(range: Range | null): string {
  return range ? `${range[0]} ${range[1]}` : "";
}

/** No more digits than can be seen: a thousandth of a pixel. */
function shortened([low, high]: Range): Range {
  const digits = Math.min(12, Math.max(0, 6 - Math.floor(Math.log10(high - low))));
  const [from, to] = [Number(low.toFixed(digits)), Number(high.toFixed(digits))];
  return from < to ? [from, to] : [low, high];
}
