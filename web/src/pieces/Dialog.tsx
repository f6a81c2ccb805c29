import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./Button";
import "./pieces.css";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** A window over the page: keeps the focus, at first on what is marked `data-first`, closes with Esc, gives it back. */
export function Dialog({ title, onClose, children }: Props) {
  const id = useId();
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    box.current?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={box} class="dialog" aria-labelledby={id} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button onClick={() => box.current?.close()}>Close</Button>
      </div>
      {children}
    </dialog>
  );
}
