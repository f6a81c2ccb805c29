import type { ComponentChildren } from "preact";
import "./pieces.css";

interface Props {
  onClick: () => void;
  children: ComponentChildren;
  /** The accessible name, where the children are a sign and no words. */
  label?: string;
  title?: string;
  /** For a switch: whether it is on. */
  pressed?: boolean;
  disabled?: boolean;
}

/** A button; with `pressed`, a switch. */
export function Button({ onClick, children, label, title, pressed, disabled }: Props) {
  return (
    <button type="button" class="button" onClick={onClick} aria-label={label} title={title ?? label} aria-pressed={pressed} disabled={disabled}>
      {children}
    </button>
  );
}
