import "./pieces.css";

/** A name that somebody else gave (a run, a tag, a layer): cut where it is too long, whole in its title. */
export function Name({ text }: { text: string }) {
  return (
    <span class="name" title={text}>
      {text}
    </span>
  );
}
