import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Range } from "../../charts/lines";
import type { TagCurves } from "./curve_answers";
import type { Asking, CurveBook } from "./curve_book";

const PX_A_BUCKET = 2;
const WIDTH_STEP = 50; // so that charts of nearly one width are asked for together

export interface AskedCurves {
  /** By tag. */
  curves: ReadonlyMap<string, TagCurves> | null;
  error: string | null;
}

/** The curves of some tags for what is in sight; the old ones stay until the new ones are there. */
export function useCurves(book: CurveBook, tags: readonly string[], place: { current: HTMLElement | null }, range: Range | null): AskedCurves {
  const [asked, setAsked] = useState<AskedCurves>({ curves: null, error: null });
  const asking = useRef<Asking | null>(null);
  const width = () => Math.max(1, Math.ceil((place.current?.clientWidth ?? 400) / PX_A_BUCKET / WIDTH_STEP)) * WIDTH_STEP;
  useEffect(() => {
    const made = book.need(tags, { width: width(), range }, (curves, error) => setAsked((before) => ({ curves: curves ?? before.curves, error })));
    asking.current = made;
    return made.stop;
  }, [book, JSON.stringify(tags)]);
  useLayoutEffect(() => asking.current?.change({ width: width(), range }), [range?.[0], range?.[1]]); // asked before the old points are drawn
  return asked;
}
