// Of ten thousand rows only those in sight are in the page.
import { useCallback, useLayoutEffect, useState } from "preact/hooks";

const MORE = 8; // rows above and below what is seen

export interface Window {
  first: number;
  end: number;
}

export function windowOf(top: number, height: number, rowHeight: number, rows: number): Window {
  const first = Math.max(0, Math.min(Math.floor(top / rowHeight) - MORE, rows - 1));
  const end = Math.min(rows, Math.ceil((top + height) / rowHeight) + MORE);
  return { first, end: Math.max(first, end) };
}

interface Scrolled {
  window: Window;
  /** There is more to the right of what is seen. */
  more: boolean;
}

/** What a box that scrolls shows of rows of one height. */
export function useWindow(box: { current: HTMLElement | null }, rowHeight: number, rows: number): Scrolled {
  const [place, setPlace] = useState({ top: 0, height: 600, more: false });
  const look = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const { scrollTop: top, clientHeight: height } = element;
    const more = element.scrollLeft + element.clientWidth < element.scrollWidth - 1;
    setPlace((old) => (old.top === top && old.height === height && old.more === more ? old : { top, height, more }));
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    look();
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    if (element.firstElementChild) watcher.observe(element.firstElementChild);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  return { window: windowOf(place.top, place.height, rowHeight, rows), more: place.more };
}
