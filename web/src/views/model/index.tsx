import { useAnswer } from "../../answer_hooks";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import { ModelPage } from "./ModelPage";
import type { Model, NoModel } from "./model_answers";
import "./model.css";

function Body({ run, about, version, chosen }: Shown) {
  // A model is the same for the whole of a run: once it was traced, only the findings may still change.
  const asked = useAnswer<Model | NoModel>("model", { run, root: chosen.root ?? "" }, about.has.flow ? about.status : version);
  const { answer, error } = asked;
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the model" />;
  if (answer.root === null) return <NoModelYet watched={about.watched} />;
  return <ModelPage key={`${run} ${answer.root}`} run={run} model={answer} chosen={chosen} version={version} />;
}

function NoModelYet({ watched }: { watched: boolean }) {
  return (
    <Empty title="No model was seen in this run.">
      {watched ? (
        <p>A model appears here when the script has called it for the first time.</p>
      ) : (
        <p>
          This log is of another tool. Under <code>torch-debugger run train.py</code> every model that the script calls is recorded.
        </p>
      )}
    </Empty>
  );
}

export const view: View = { name: "model", title: "Model", place: 40, appears: (about) => about.has.model === true, Body };
