import { toNumber, type Num } from "../../answers";
import { number } from "../../pieces/numbers";

/** A number as text; what is NaN or Inf has the colour that it has in the drawings. */
export function MarkedNumber({ value }: { value: Num | undefined }) {
  const text = number(value);
  return value !== undefined && !Number.isFinite(toNumber(value)) ? <span class="data-notfinite">{text}</span> : <>{text}</>;
}
