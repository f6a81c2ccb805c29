import { useEffect, useId, useRef, useState } from "preact/hooks";
import { count } from "../pieces/numbers";
import { useRunsLike } from "./runs";
import "./frame.css";

interface Props {
  run: string;
  /** Its name as the reader has given it, or its own. */
  shown: string;
  open: boolean;
  onOpen: (open: boolean) => void;
  onChoose: (run: string) => void;
}

/** The run that is shown, and a searchable list of the others behind it. */
export function RunChooser({ run, shown, open, onOpen, onChoose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (refocus: boolean) => {
    onOpen(false);
    if (refocus) button.current?.focus();
  };
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) onOpen(false);
    };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [open]);
  return (
    <div class="chooser" ref={box}>
      <button ref={button} type="button" class="chooser-button" title={run} aria-haspopup="listbox" aria-expanded={open} onClick={() => onOpen(!open)}>
        <span class="unseen">Run: </span>
        <span class="name">{shown}</span>
        <span aria-hidden="true">▾</span>
      </button>
      {open ? <RunList run={run} onClose={close} onChoose={onChoose} /> : null}
    </div>
  );
}

interface ListProps {
  run: string;
  onClose: (refocus: boolean) => void;
  onChoose: (run: string) => void;
}

function RunList({ run, onClose, onChoose }: ListProps) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const { runs, all } = useRunsLike(typed, "list");
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const place = Math.min(at, Math.max(runs.length - 1, 0));
  useEffect(() => field.current?.focus(), []);
  useEffect(() => document.getElementById(`${id}-${place}`)?.scrollIntoView({ block: "nearest" }), [place, runs]);
  const pick = (name: string | undefined) => {
    if (name !== undefined) onChoose(name);
    onClose(true);
  };
  const press = (event: KeyboardEvent) => {
    const to = moved(event.key, place, runs.length);
    if (to !== null) setAt(to);
    else if (event.key === "Enter") pick(runs[place]);
    else if (event.key === "Escape") onClose(true);
    else {
      if (event.key === "Tab") onClose(false);
      return;
    }
    event.preventDefault();
  };
  const type = (text: string) => {
    setTyped(text);
    setAt(0);
  };
  return (
    <div class="chooser-list">
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label="Search for a run"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={id}
        aria-activedescendant={runs.length ? `${id}-${place}` : undefined}
        placeholder="Search for a run"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={press}
      />
      <ul id={id} role="listbox" aria-label="Runs">
        {runs.map((name, which) => (
          <li key={name} id={`${id}-${which}`} role="option" title={name} aria-selected={name === run} class={which === place ? "chooser-at" : undefined} onClick={() => pick(name)}>
            <span class="name">{name}</span>
          </li>
        ))}
      </ul>
      <p class="quiet" role="status">
        {said(runs.length, all)}
      </p>
    </div>
  );
}

function moved(key: string, at: number, length: number): number | null {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10 }[key];
  return to === undefined ? null : Math.min(Math.max(to, 0), Math.max(length - 1, 0));
}

function said(shown: number, all: number): string {
  if (all === 0) return "No run has that in its name.";
  return shown < all ? `The ${shown} written last of ${count(all, "run")}; type more to find the others.` : count(all, "run");
}
