import { useEffect, useRef } from "preact/hooks";
import { isReport } from "../../asking";
import { wholeNumber } from "../../charts/numbers";
import { choose } from "../../links";
import { SMOOTHING, type Choices } from "./choices";
import { RunChooser } from "./RunChooser";

interface ControlsProps {
  run: string;
  choices: Choices;
  axes: { kind: string; name: string }[];
  fault: string | null;
  shown: number;
  all: number;
  zoomed: boolean;
  onReset: () => void;
}

export function Controls({ run, choices, axes, fault, shown, all, zoomed, onReset }: ControlsProps) {
  return (
    <form class="curves-controls" onSubmit={(event) => event.preventDefault()}>
      <FilterBox text={choices.filter} fault={fault} />
      <span class="quiet" role="status">{howMany(shown, all)}</span>
      <Smoothing value={choices.smoothing} />
      {isReport() ? null : (
        <label>
          x by{" "}
          <select value={choices.x} onChange={(event) => choose({ x: event.currentTarget.value === "step" ? undefined : event.currentTarget.value, from: undefined, to: undefined })}>
            {axes.map(({ kind, name }) => (
              <option key={kind} value={kind}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <Switch name="logx" on={choices.logX} text="log x" />
      <Switch name="logy" on={choices.logY} text="log y" />
      <Switch name="apart" on={!choices.apart} text="zoom together" inverted />
      {isReport() ? null : <RunChooser run={run} others={choices.others} by={choices.by} />}
      {zoomed ? (
        <button type="button" onClick={onReset}>
          Show all of x
        </button>
      ) : null}
    </form>
  );
}

function howMany(shown: number, all: number): string {
  const told = `${wholeNumber(all)} ${all === 1 ? "tag" : "tags"}`;
  return shown === all ? told : `${wholeNumber(shown)} of ${told}`;
}

function FilterBox({ text, fault }: { text: string; fault: string | null }) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  return (
    <div class="curves-filter">
      <input
        ref={box}
        type="search"
        value={text}
        placeholder="Filter tags: a regular expression"
        aria-label="Filter tags by a regular expression"
        aria-invalid={fault !== null}
        onInput={(event) => choose({ q: event.currentTarget.value })}
      />
      {fault ? <p role="alert">Not a regular expression ({fault}); looked for as plain text.</p> : null}
    </div>
  );
}

function Smoothing({ value }: { value: number }) {
  const set = (text: string) => choose({ smooth: Number(text) === SMOOTHING ? undefined : text });
  return (
    <label class="curves-smoothing" title="A moving average over what is in sight. What was measured stays behind it, faintly.">
      smoothing
      <input type="range" min="0" max="0.99" step="0.01" value={value} onInput={(event) => set(event.currentTarget.value)} />
      <output>{value.toFixed(2)}</output>
    </label>
  );
}

function Switch({ name, on, text, inverted = false }: { name: string; on: boolean; text: string; inverted?: boolean }) {
  return (
    <label>
      <input type="checkbox" checked={on} onChange={(event) => choose({ [name]: event.currentTarget.checked !== inverted ? "1" : undefined })} /> {text}
    </label>
  );
}
