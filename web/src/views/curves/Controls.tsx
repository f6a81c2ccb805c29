import { useEffect, useRef } from "preact/hooks";
import { isReport } from "../../asking";
import { wholeNumber } from "../../charts/numbers";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { Select } from "../../pieces/Select";
import { canBeLog, SMOOTHING, type Choices } from "./choices";
import { RunChooser } from "./RunChooser";
import { NO_ZOOM } from "./zoom_links";

const Y_AXES = [
  { value: "", title: "as fits", hint: "Logarithmic where all values are above zero and more than a factor of 10,000 apart" },
  { value: "0", title: "linear" },
  { value: "1", title: "log" },
];

interface ControlsProps {
  run: string;
  choices: Choices;
  axes: { kind: string; name: string }[];
  /** Which of the tags are shown; null in the view of a single one. */
  filtered: { fault: string | null; shown: number; all: number } | null;
  zoomed: boolean;
  onReset: () => void;
}

export function Controls({ run, choices, axes, filtered, zoomed, onReset }: ControlsProps) {
  return (
    <form class="curves-controls" onSubmit={(event) => event.preventDefault()}>
      {filtered ? <FilterBox text={choices.filter} fault={filtered.fault} /> : null}
      {filtered ? <span class="quiet" role="status">{howMany(filtered.shown, filtered.all)}</span> : null}
      <Smoothing value={choices.smoothing} />
      {isReport() ? null : <Select label="x by" value={choices.x} options={axes.map(({ kind, name }) => ({ value: kind, title: name }))} onChange={(x) => choose({ ...NO_ZOOM, x: x === "step" ? undefined : x })} />}
      <Select label="y" value={choices.logY === null ? "" : choices.logY ? "1" : "0"} options={Y_AXES} onChange={(value) => choose({ logy: value })} />
      <Switch name="logx" on={choices.logX} text="log x" {...(canBeLog(choices.x) ? {} : { refused: "Times of the clock have no zero to count from: log x goes with the other kinds of x." })} />
      <Switch name="apart" on={!choices.apart} text="zoom together" inverted />
      {isReport() ? null : <RunChooser run={run} others={choices.others} by={choices.by} />}
      <Button onClick={onReset} disabled={!zoomed}>
        Show all
      </Button>
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

interface SwitchProps {
  name: string;
  on: boolean;
  text: string;
  inverted?: boolean;
  /** Why it cannot be switched on. */
  refused?: string;
}

function Switch({ name, on, text, inverted = false, refused }: SwitchProps) {
  const turn = (checked: boolean) => choose({ [name]: checked !== inverted ? "1" : undefined });
  return (
    <label title={refused} class={refused ? "quiet" : ""}>
      <input type="checkbox" checked={on} disabled={refused !== undefined} onChange={(event) => turn(event.currentTarget.checked)} /> {text}
    </label>
  );
}
