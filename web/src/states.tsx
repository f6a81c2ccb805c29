// What stands where there is nothing to show, yet or at all: it says why, and what would bring it.
import type { ComponentChildren } from "preact";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty" role="status">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Problem({ text }: { text: string }) {
  return (
    <div class="problem" role="alert">
      {text}
    </div>
  );
}

export function Waiting({ what, share = null }: { what: string; share?: number | null }) {
  const label = `Reading ${what}`;
  return (
    <div class="waiting" role="status">
      {label}…{share === null ? null : ` ${Math.floor(share * 100)} % `}
      {share === null ? null : <progress value={share} aria-label={label} />}
    </div>
  );
}
