import "./pieces.css";

export interface CodeLine {
  number: number;
  text: string;
  marked?: boolean;
}

/** Lines of source with their numbers; a marked one stands out by a sign and a colour. */
export function CodeBlock({ label, lines }: { label: string; lines: readonly CodeLine[] }) {
  return (
    <div class="code" role="region" aria-label={label} tabIndex={0}>
      <table role="presentation">
        <tbody>
          {lines.map((line) => (
            <tr key={line.number} class={line.marked ? "code-marked" : undefined}>
              <td class="code-number">
                {line.marked ? <span aria-label="This line: ">▸</span> : null}
                {line.number}
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
