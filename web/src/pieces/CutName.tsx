import "./pieces.css";

const END = 9; // letters that always stay: runs of one sweep differ there
const SHORT = 2 * END;

/** A name that is cut in its middle where it is too long, whole in its title. A link around it needs it as its
 *  `aria-label`: the two parts would be read as two words. */
export function CutName({ text, title = text }: { text: string; title?: string }) {
  const letters = [...text];
  const end = letters.length > SHORT ? letters.slice(-END).join("") : "";
  return (
    <span class="cut-name" title={title}>
      <span class={end ? "cut-start" : "cut-whole"}>{letters.slice(0, letters.length - (end ? END : 0)).join("")}</span>
      {end ? <span class="cut-end">{end}</span> : null}
    </span>
  );
}
