// Turns and moves what a canvas shows: by dragging, with Shift or two fingers moving it, Ctrl with the wheel, keys and buttons.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { nearer, turned, type Sight } from "./turning";

const A_TURN = 0.01; // radians a pixel
const STEP = 0.15;
const MOVE = 30; // pixels

type Change = (old: Sight) => Sight;

export function useTurning(start: () => Sight, turns: boolean) {
  const [sight, setSight] = useState(start);
  const canvas = useRef<HTMLCanvasElement>(null);
  const reset = useCallback(() => setSight(start()), [start]);
  useEffect(reset, [start]);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return; // else the page could not be scrolled past it
      event.preventDefault();
      const by = Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) * 0.002);
      const { x, y } = fromMiddle(element, event);
      setSight((old) => nearer(old, by, x, y));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);
  const zoom = (by: number) => setSight((old) => nearer(old, by));
  return { canvas, sight, zoom, reset, on: { ...useDragging(setSight, turns), onKeyDown: (event: KeyboardEvent) => byKey(event, setSight, turns, reset) } };
}

export function fromMiddle(element: Element, event: { clientX: number; clientY: number }): { x: number; y: number } {
  const edge = element.getBoundingClientRect();
  return { x: event.clientX - edge.left - edge.width / 2, y: event.clientY - edge.top - edge.height / 2 };
}

function useDragging(setSight: (change: Change) => void, turns: boolean) {
  const held = useRef(new Map<number, { x: number; y: number }>());
  const moved = useRef(false);
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      if (!held.current.size) moved.current = false;
      held.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const before = held.current.get(event.pointerId);
      if (!before) return;
      const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
      if (!moved.current && Math.hypot(dx, dy) < 3) return; // a click that trembles
      moved.current = true;
      const [other] = [...held.current].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      held.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (other) {
        const by = Math.hypot(event.clientX - other.x, event.clientY - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
        setSight((old) => ({ ...nearer(old, by), x: old.x + dx / 2, y: old.y + dy / 2 }));
      } else if (turns && !event.shiftKey) setSight((old) => ({ ...old, turn: turned(old.turn, dx * A_TURN, dy * A_TURN) }));
      else setSight((old) => ({ ...old, x: old.x + dx, y: old.y + dy }));
    },
    onPointerUp: (event: PointerEvent) => held.current.delete(event.pointerId),
    onPointerCancel: (event: PointerEvent) => held.current.delete(event.pointerId),
    /** A click that ends a drag picks nothing. */
    onClickCapture: (event: MouseEvent) => {
      if (moved.current) event.stopPropagation();
      moved.current = false;
    },
  };
}

const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function byKey(event: KeyboardEvent, setSight: (change: Change) => void, turns: boolean, reset: () => void): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key];
  if (arrow && turns && !event.shiftKey) setSight((old) => ({ ...old, turn: turned(old.turn, arrow[0] * STEP, arrow[1] * STEP) }));
  else if (arrow) setSight((old) => ({ ...old, x: old.x + arrow[0] * MOVE, y: old.y + arrow[1] * MOVE }));
  else if (event.key === "+" || event.key === "=") setSight((old) => nearer(old, 1.25));
  else if (event.key === "-") setSight((old) => nearer(old, 0.8));
  else if (event.key === "0") reset();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
