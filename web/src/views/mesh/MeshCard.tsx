import { useAnswer } from "../../answer_hooks";
import { useLast } from "../../last_answer";
import { choose } from "../../links";
import { Panel } from "../../pieces/Panel";
import { Select } from "../../pieces/Select";
import { nearestPlace, Slider } from "../../pieces/Slider";
import { Problem, Waiting } from "../../states";
import type { Mesh, MeshTag } from "./answers";
import { MeshCanvas, sizeText } from "./MeshCanvas";

interface Props {
  run: string;
  tag: MeshTag;
  version: string;
  chosen: Record<string, string>;
}

/** One mesh at the chosen step; it stays turned as it is from step to step. */
export function MeshCard({ run, tag, version, chosen }: Props) {
  const wanted = chosen[`at ${tag.name}`];
  const last = tag.steps[tag.steps.length - 1] ?? 0;
  const step = wanted === undefined ? last : (tag.steps[nearestPlace(tag.steps, Number(wanted))] ?? last);
  const sample = chosen[`sample ${tag.name}`] ?? "";
  const { answer: now, error } = useAnswer<Mesh>("meshes", { run, name: tag.name, step, sample }, version);
  const mesh = useLast(now);
  return (
    <Panel title={tag.name} about={mesh ? sizeText(mesh) : undefined}>
      {error ? <Problem text={error} /> : null}
      {!mesh && !error ? <Waiting what="the mesh" /> : null}
      {mesh && !error ? <MeshCanvas mesh={mesh} /> : null}
      {mesh?.remarks.map((remark) => <p key={remark} class="mesh-remark">{remark}</p>)}
      <div class="mesh-choices">
        {tag.steps.length > 1 ? (
          <Slider label="Step" stops={tag.steps} value={step} onChange={(stop) => choose({ [`at ${tag.name}`]: String(stop) })} />
        ) : (
          <p class="quiet">step {step.toLocaleString("en-US")}</p>
        )}
        {mesh && mesh.samples > 1 ? (
          <Select label="Of the batch" options={samples(mesh.samples)} value={sample} onChange={(value) => choose({ [`sample ${tag.name}`]: value || undefined })} />
        ) : null}
      </div>
    </Panel>
  );
}

const MOST_SAMPLES = 100;

function samples(count: number) {
  return Array.from({ length: Math.min(count, MOST_SAMPLES) }, (_, at) => ({ value: at ? String(at) : "", title: `${at + 1} of ${count}` }));
}
