import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import "./pieces.css";

interface Props {
  title: string;
  children: ComponentChildren;
  /** A sentence below the title: what is shown, in which unit. */
  about?: ComponentChildren;
  /** Buttons and choices at the right of the title. */
  tools?: ComponentChildren;
}

/** A part of a view with its title; a landmark for whoever listens. */
export function Panel({ title, children, about, tools }: Props) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {tools ? <div class="panel-tools">{tools}</div> : null}
      </div>
      {about ? <p class="panel-about">{about}</p> : null}
      {children}
    </section>
  );
}
