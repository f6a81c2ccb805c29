import type { About } from "../answers";
import { count } from "../pieces/numbers";
import type { PollState } from "./polling";
import "./frame.css";

/** What is wrong around the run, not in it: quiet, above the view. */
export function Banners({ beat, about }: { beat: PollState; about: About | null }) {
  return (
    <div class="frame-banners" role="status">
      {beat.away ? <p>The server does not answer; trying again. What you see is what was read before.</p> : null}
      {beat.locked ? <p>The server was started anew and asks for its token: open the whole address that torch-debugger printed. What you see is what was read before.</p> : null}
      {beat.gone && about && !beat.away ? <p>The folder of this run is gone. What you see is what was read before.</p> : null}
      {about && about.damage.length > 0 ? <Damage sentences={about.damage} /> : null}
    </div>
  );
}

const MOST = 20;

function Damage({ sentences }: { sentences: string[] }) {
  if (sentences.length === 1) return <p>Part of the log could not be read. {sentences[0]}</p>;
  return (
    <details>
      <summary>{count(sentences.length, "place")} of the log could not be read.</summary>
      <ul>
        {sentences.slice(0, MOST).map((each, place) => (
          <li key={place}>{each}</li>
        ))}
        {sentences.length > MOST ? <li>{sentences.length - MOST} more.</li> : null}
      </ul>
    </details>
  );
}
