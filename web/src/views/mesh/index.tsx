import { useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { useLast } from "../../last_answer";
import { Button } from "../../pieces/Button";
import { count } from "../../pieces/numbers";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import type { Meshes } from "./answers";
import { MeshCard } from "./MeshCard";
import "./mesh.css";

const AT_ONCE = 6;

function Body({ run, version, chosen }: Shown) {
  const [shown, setShown] = useState(AT_ONCE);
  const { answer: now, error } = useAnswer<Meshes>("meshes", { run }, version);
  const answer = useLast(now);
  const more = (answer?.meshes.length ?? 0) - shown;
  return (
    <>
      <h1 class="mesh-title">Meshes</h1>
      {error ? <Problem text={error} /> : null}
      {!answer && !error ? <Waiting what="the meshes" /> : null}
      {answer && !answer.meshes.length && !answer.unknown.length ? (
        <Empty title="This run has logged no meshes.">
          <p>
            They come from <code>add_mesh</code> of a SummaryWriter: points with their colors, and faces between them.
          </p>
        </Empty>
      ) : null}
      {answer?.unknown.length ? <p class="mesh-remark">{unknownText(answer.unknown)}</p> : null}
      <div class="mesh-grid">
        {answer?.meshes.slice(0, shown).map((tag) => <MeshCard key={tag.name} run={run} tag={tag} version={version} chosen={chosen} />)}
      </div>
      {more > 0 ? <Button onClick={() => setShown(shown + AT_ONCE)}>Show {Math.min(AT_ONCE, more)} more of {more}</Button> : null}
    </>
  );
}

/** Nothing that was logged goes without a word. */
function unknownText(tags: readonly string[]): string {
  const named = tags.slice(0, 5).join(", ");
  return `${count(tags.length, "tag")} of meshes cannot be shown, as there are no points to them: ${named}${tags.length > 5 ? " and others" : ""}.`;
}

export const view: View = { name: "mesh", title: "Meshes", place: 64, appears: (about) => about.has.meshes === true, Body };
