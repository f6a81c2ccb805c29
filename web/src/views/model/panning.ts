// The part of the drawing that is in sight: moved by dragging, Ctrl with the wheel, keys and buttons.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Sight {
  x: number;
  y: number;
  scale: number;
}

interface Size {
  width: number;
  height: number;
}

const LEAST = 0.05;
const MOST = 4;
const EDGE = 16;
const NARROW = 600; // pixels: titles begin at the left, and there they must not be cut

export function zoomed(sight: Sight, by: number, x: number, y: number): Sight {
  const scale = Math.min(MOST, Math.max(LEAST, sight.scale * by));
  const grown = scale / sight.scale;
  return { x: x - (x - sight.x) * grown, y: y - (y - sight.y) * grown, scale };
}

/** All of it, in the middle. */
export function fitted(scene: Size, window: Size): Sight {
  const room = { width: window.width - 2 * EDGE, height: window.height - 2 * EDGE };
  const largest = Math.max(1.25, window.height / 900); // on a very large screen, larger
  const scale = Math.min(largest, Math.max(LEAST, Math.min(room.width / scene.width, room.height / scene.height)));
  return centred(scene, window, scale, Math.max(EDGE, (window.height - scene.height * scale) / 2));
}

/** At first: as much as can be read, from the top. */
export function readable(scene: Size, window: Size): Sight {
  const whole = fitted(scene, window);
  if (whole.scale >= 0.7) return whole;
  const scale = Math.max(0.7, Math.min(1, (window.width - 2 * EDGE) / scene.width));
  const sight = centred(scene, window, scale, EDGE);
  return window.width < NARROW ? { ...sight, x: Math.max(EDGE, sight.x) } : sight;
}

function centred(scene: Size, window: Size, scale: number, y: number): Sight {
  return { x: (window.width - scene.width * scale) / 2, y, scale };
}

/** Around a box: moved only as far as it must be for the box to lie well inside. */
export function brought(sight: Sight, box: { x: number; y: number; width: number; height: number }, window: Size): Sight {
  const scale = Math.max(sight.scale, 0.7);
  const middle = { x: (box.x + box.width / 2) * scale, y: (box.y + box.height / 2) * scale };
  return { x: window.width / 2 - middle.x, y: window.height / 2 - middle.y, scale };
}

/** Moved only as far as it must be for the box to be seen; of a larger one its beginning. */
export function inSight(sight: Sight, box: { x: number; y: number; width: number; height: number }, window: Size): Sight {
  const along = (from: number, size: number, moved: number, room: number) => {
    const start = from * sight.scale + moved;
    const over = Math.max(0, start + size * sight.scale - (room - EDGE));
    return moved - Math.min(over, Math.max(0, start - EDGE)) + Math.max(0, EDGE - start);
  };
  return { ...sight, x: along(box.x, box.width, sight.x, window.width), y: along(box.y, box.height, sight.y, window.height) };
}

/** Ctrl with the wheel (and a pinch, which browsers tell as that) and dragging on an element; what is in sight, and a way to change it. */
export function usePanning(scene: Size) {
  const place = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState<Sight>({ x: EDGE, y: EDGE, scale: 1 });
  const measure = useCallback((): Size => {
    const found = place.current;
    return { width: found?.clientWidth || 800, height: found?.clientHeight || 600 };
  }, []);
  useEffect(() => setSight(readable(scene, measure())), []);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return; // else the page could not be scrolled past the drawing
      event.preventDefault();
      const edge = element.getBoundingClientRect();
      const by = Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) * 0.002);
      setSight((old) => zoomed(old, by, event.clientX - edge.left, event.clientY - edge.top));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);
  return { place, sight, setSight, measure, drag: useDragging(setSight) };
}

function useDragging(setSight: (change: (old: Sight) => Sight) => void) {
  const from = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button === 0) from.current = { x: event.clientX, y: event.clientY, moved: false };
    },
    onPointerMove: (event: PointerEvent) => {
      const start = from.current;
      if (!start || !(event.buttons & 1)) return;
      const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
      if (!start.moved && Math.hypot(dx, dy) < 4) return; // a click that trembles
      if (!start.moved) (event.currentTarget as Element).setPointerCapture(event.pointerId);
      from.current = { x: event.clientX, y: event.clientY, moved: true };
      setSight((old) => ({ ...old, x: old.x + dx, y: old.y + dy }));
    },
    /** A click that ends a drag opens nothing. */
    onClickCapture: (event: MouseEvent) => {
      if (from.current?.moved) event.stopPropagation();
      from.current = null;
    },
  };
}
