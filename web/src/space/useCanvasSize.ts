import { useEffect, useState } from "preact/hooks";

export interface CanvasSize {
  /** In the page's pixels. */
  width: number;
  height: number;
  /** Of the canvas's own pixels to one of the page. */
  ratio: number;
}

const MOST_RATIO = 2;

/** Follows the size that the page's style gives a canvas. */
export function useCanvasSize(canvas: { current: HTMLCanvasElement | null }): CanvasSize {
  const [size, setSize] = useState<CanvasSize>({ width: 0, height: 0, ratio: 1 });
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight, ratio: Math.min(MOST_RATIO, devicePixelRatio || 1) });
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    measure();
    return () => watcher.disconnect();
  }, []);
  return size;
}
