import { useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { Inline, Prose } from "../../pieces/Prose";
import { Problem, Waiting } from "../../states";
import type { CheckPage } from "./answers";

/** What `torch-debugger explain` says of a check, asked for when it is opened. */
export function More({ name }: { name: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="details" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>More about {name}</summary>
      <div class="details-body">{open ? <Explained name={name} /> : null}</div>
    </details>
  );
}

function Explained({ name }: { name: string }) {
  const { answer, error } = useAnswer<CheckPage>("explain", { check: name });
  if (!answer) return error ? <Problem text={error} /> : <Waiting what="the page of this check" />;
  return (
    <>
      <p>
        <Inline text={answer.summary} />
      </p>
      <dl class="verdict-more">
        {Object.entries(answer.sections).map(([heading, text]) => (
          <div key={heading}>
            <dt>{heading}</dt>
            <dd>
              <Prose text={text} />
            </dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        In the terminal: <code>torch-debugger explain {name}</code>
      </p>
    </>
  );
}
