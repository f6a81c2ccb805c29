import { useAnswer } from "../../answer_hooks";
import { Empty, Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import type { Choices } from "./answers";
import { LayerPanel } from "./LayerPanel";
import "./layers.css";
import { LayerMap } from "./LayerMap";
import { useCalm } from "./calm";

function Layers({ run, about, version, chosen }: Shown) {
  const calm = useCalm(version);
  const { answer, error } = useAnswer<Choices>("layers", { run }, calm);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the layers" />;
  if (!answer.numbers.length) return <Nothing watched={about.watched} />;
  const opened = chosen.layer;
  return (
    <>
      <h1 class="layers-title">Layers</h1>
      <div class={opened ? "layers layers-split" : "layers"}>
        <LayerMap run={run} steps={about.steps} choices={answer} chosen={chosen} version={calm} />
        {opened ? <LayerPanel key={opened} run={run} layer={opened} chosen={chosen} version={calm} /> : null}
      </div>
    </>
  );
}

function Nothing({ watched }: { watched: boolean }) {
  return (
    <Empty title="Nothing was measured in the layers of this run.">
      {watched ? "Layers are measured from the first training step on; this run has not made one, or it trained no torch.nn module." : "Record the run with torch-debugger run train.py; other tools' logs have no layers."}
    </Empty>
  );
}

export const view: View = { name: "layers", title: "Layers", place: 30, appears: (about) => about.has.layers === true, Body: Layers };
