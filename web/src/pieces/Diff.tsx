import "./pieces.css";

export interface DiffLine {
  mark: "+" | "-" | " " | "@";
  text: string;
}

const WORDS = { "+": "added", "-": "removed", " ": "kept", "@": "place" } as const;

/** What to take away and what to write, told by + and - as well as by colour. */
export function Diff({ label, lines }: { label: string; lines: readonly DiffLine[] }) {
  return (
    <div class="code diff" role="region" aria-label={label} tabIndex={0}>
      <table role="presentation">
        <tbody>
          {lines.map((line, place) => (
            <tr key={place} class={`diff-${WORDS[line.mark]}`}>
              <td class="code-number">
                <span class="unseen">{WORDS[line.mark]}: </span>
                <span aria-hidden="true">{line.mark}</span>
              </td>
              <td class="code-text">
                <code>{line.text || " "}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
