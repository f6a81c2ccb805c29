import { useEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

export interface Closing {
  place: RefObject<HTMLDetailsElement | null>;
  open: boolean;
  onToggle: () => void;
  close: () => void;
}

/** For what opens over the page: Escape and a press outside close it, and Escape hands the focus back. */
export function useClosing(): Closing {
  const place = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  const close = () => {
    if (place.current) place.current.open = false;
  };
  useEffect(() => {
    const press = (event: MouseEvent) => {
      if (!place.current?.contains(event.target as Node)) close();
    };
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !place.current?.open) return;
      event.preventDefault(); // it closes this and nothing around it
      close();
      place.current.querySelector("summary")?.focus();
    };
    addEventListener("click", press, { capture: true }); // not when it goes down: what moves up then would miss the click
    addEventListener("keydown", key, { capture: true });
    return () => {
      removeEventListener("click", press, { capture: true });
      removeEventListener("keydown", key, { capture: true });
    };
  }, []);
  return { place, open, onToggle: () => setOpen(place.current?.open ?? false), close };
}
