import type { Option } from "./Choice";
import "./pieces.css";

interface Props<T extends string> {
  label: string;
  options: readonly Option<T>[];
  value: T;
  onChange: (value: T) => void;
}

/** One of many: a native list with its label before it. */
export function Select<T extends string>({ label, options, value, onChange }: Props<T>) {
  return (
    <label class="field">
      <span class="field-label">{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value as T)}>
        {options.map((each) => (
          <option key={each.value} value={each.value} title={each.hint}>
            {each.title}
          </option>
        ))}
      </select>
    </label>
  );
}
