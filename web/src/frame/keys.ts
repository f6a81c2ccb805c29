// The keys of the page. They do nothing while somebody types, and leave every combination to the browser.
import { useEffect, useRef } from "preact/hooks";

const NOT_TYPED_INTO = new Set(["button", "checkbox", "radio", "range", "color", "file", "submit", "reset"]);

export function isTypedInto(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !NOT_TYPED_INTO.has(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** `act` says whether it used the key. */
export function useKeys(act: (key: string) => boolean): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]")) return;
      if (isTypedInto(event.target)) return leaveSearch(event);
      if (latest.current(event.key)) event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** Escape empties a search, and leaves an empty one: then the keys of the page are there again. */
function leaveSearch(event: KeyboardEvent): void {
  const field = event.target;
  if (event.key === "Escape" && field instanceof HTMLInputElement && field.type === "search" && field.value === "") field.blur();
}

/** Puts the focus on the next (1) or previous (-1) of the things that a view has to walk through; false without any. */
export function walk(by: 1 | -1): boolean {
  const all = [...document.querySelectorAll<HTMLElement>("main [data-walk]")].filter((each) => each.offsetParent !== null);
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = at === -1 ? (by === 1 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
  all[next]?.focus();
  return all.length > 0;
}

/** Puts the focus into the view's own search; false where it has none. */
export function goToSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("main input[type=search]");
  field?.focus();
  field?.select();
  return field !== null;
}
