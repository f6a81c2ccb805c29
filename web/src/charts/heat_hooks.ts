// What a heat map follows: its own size, how far it is scrolled, and the mouse.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { followed, type Cell } from "./heat_cells";

export interface Window {
  width: number;
  height: number;
  scrolled: number;
}

export function useWindow(scroller: RefObject<HTMLElement | null>): Window {
  const [seen, setSeen] = useState<Window>({ width: 0, height: 0, scrolled: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () => {
      const now = { width: element.clientWidth, height: element.clientHeight, scrolled: element.scrollTop };
      setSeen((old) => (old.width === now.width && old.height === now.height && old.scrolled === now.scrolled ? old : now));
    };
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      watcher.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  return seen;
}

/** The cell that is read out; when the columns change, as by a zoom, it stays at its step. */
export function useFollowingCell(columns: readonly number[]): [Cell | null, (cell: Cell | null) => void] {
  const [at, setAt] = useState<{ cell: Cell | null; columns: readonly number[] }>({ cell: null, columns });
  const cell = at.columns === columns ? at.cell : followed(at.cell, at.columns, columns);
  return [cell, (next) => setAt({ cell: next, columns })];
}

/** A canvas as sharp as the screen: `draw` has the units of the page. Drawn again when one of `of` changes. */
export function useDrawing(canvas: RefObject<HTMLCanvasElement | null>, width: number, height: number, draw: (context: CanvasRenderingContext2D) => void, of: unknown[]): void {
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const density = devicePixelRatio || 1;
    element.width = Math.max(1, Math.round(width * density));
    element.height = Math.max(1, Math.round(height * density));
    context.scale(density, density);
    draw(context);
  }, [width, height, ...of]);
}
