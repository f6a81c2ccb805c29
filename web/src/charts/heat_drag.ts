import { useRef, useState } from "preact/hooks";

const LEAST_DRAG = 6; // pixels; less is a click

/** A range of columns under a pressed mouse; `end` says whether one was drawn. */
export function useDrag(done: (from: number, to: number) => void) {
  const begun = useRef<{ column: number; x: number } | null>(null);
  const [range, setRange] = useState<[number, number] | null>(null);
  return {
    range,
    start: (column: number | null, event: PointerEvent) => {
      begun.current = column === null || event.pointerType === "touch" ? null : { column, x: event.clientX };
    },
    move: (column: number | null, event: PointerEvent) => {
      const from = begun.current;
      if (from && column !== null && Math.abs(event.clientX - from.x) > LEAST_DRAG) setRange([from.column, column]);
    },
    end: () => {
      begun.current = null;
      if (!range) return false;
      setRange(null);
      if (range[0] !== range[1]) done(...range);
      return true;
    },
    cancel: () => {
      begun.current = null;
      setRange(null);
    },
  };
}
