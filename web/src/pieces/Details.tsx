import type { ComponentChildren } from "preact";
import "./pieces.css";

interface Props {
  summary: ComponentChildren;
  children: ComponentChildren;
  open?: boolean;
  /** One of several that j and k walk through. */
  walked?: boolean;
}

/** More, folded away until it is asked for. */
export function Details({ summary, children, open, walked }: Props) {
  return (
    <details class="details" open={open}>
      <summary data-walk={walked ? "" : undefined}>{summary}</summary>
      <div class="details-body">{children}</div>
    </details>
  );
}
