import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./Button";
import "./pieces.css";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** A window over the page: keeps the focus, closes with Esc, gives the focus back. */
export function Dialog({ title, onClose, children }: Props) {
  const id = useId();
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
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
