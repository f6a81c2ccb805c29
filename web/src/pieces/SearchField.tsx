import { useId } from "preact/hooks";
import "./pieces.css";

interface Props {
  label: string;
  value: string;
  onInput: (value: string) => void;
  placeholder?: string;
  /** What is wrong with what was typed (a broken pattern), said below the field. */
  problem?: string | null;
  /** How many were found, said below the field. */
  found?: string;
}

/** A filter as one types; the key / goes to the first one of a view. */
export function SearchField({ label, value, onInput, placeholder, problem, found }: Props) {
  const id = useId();
  const said = problem ?? found;
  return (
    <div class="search">
      <label class="field-label" for={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        value={value}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={problem ? true : undefined}
        aria-describedby={said ? `${id}-said` : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {said ? (
        <span id={`${id}-said`} class={problem ? "search-problem" : "quiet"} role="status">
          {said}
        </span>
      ) : null}
    </div>
  );
}
