import "./pieces.css";

/** A sentence of a check: what stands between backticks is code; paragraphs are parted by an empty line. */
export function Prose({ text }: { text: string }) {
  return (
    <div class="prose">
      {text.split(/\n{2,}/).map((paragraph, place) => (
        <p key={place}>
          <Inline text={paragraph} />
        </p>
      ))}
    </div>
  );
}

/** The same for one sentence, without a paragraph around it. */
export function Inline({ text }: { text: string }) {
  return <>{text.split("`").map((part, place, all) => (isCode(place, all.length) ? <code key={place}>{part}</code> : part))}</>;
}

/** Every second part, except the last one of an odd number of backticks. */
function isCode(place: number, parts: number): boolean {
  return place % 2 === 1 && place < parts - 1;
}
