import { useId } from "preact/hooks";
import "./pieces.css";

export interface Option<T extends string> {
  value: T;
  title: string;
  hint?: string;
}

interface Props<T extends string> {
  label: string;
  options: readonly Option<T>[];
  value: T;
  onChange: (value: T) => void;
  /** Keeps the label for screen readers only. */
  quiet?: boolean;
}

/** One of a few, all in sight: a row of segments, which are radio buttons to the keyboard. */
export function Choice<T extends string>({ label, options, value, onChange, quiet }: Props<T>) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class={quiet ? "unseen" : "choice-label"}>{label}</legend>
      <div class="choice-row">
        {options.map((each) => (
          <label key={each.value} class="choice-one" title={each.hint}>
            <input type="radio" name={name} value={each.value} checked={each.value === value} onChange={() => onChange(each.value)} />
            <span>{each.title}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
