import { useMemo } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { isReport } from "../../asking";
import { choose } from "../../links";
import { Choice } from "../../pieces/Choice";
import { number } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Problem } from "../../states";
import type { Cloud } from "./affinities";
import { centreOf, columnTitle, nameOf, placeOf, type Embedding, type Neighbours, type Sprite } from "./answers";
import { nearest, type Measure, type Neighbour } from "./neighbours";
import { Thumb } from "./Thumb";

export const NEIGHBOURS = 12;

const MEASURES = [
  { value: "euclidean", title: "Euclidean", hint: "The distance between the points." },
  { value: "cosine", title: "Cosine", hint: "One less the cosine of the angle between them, seen from zero." },
] as const;

/** Computed here where the page has all there is to the points, else asked for. */
export function useNeighbours(run: string, embedding: Embedding, cloud: Cloud, point: number | null, by: Measure): { found: readonly Neighbour[]; error: string | null } {
  const here = embedding.whole || isReport();
  const own = useMemo(() => (point === null || !here ? [] : nearest(cloud, centreOf(embedding), point, by, NEIGHBOURS)), [cloud, point, by, here]);
  const given = { run, tag: embedding.tag, step: embedding.step, point: point ?? 0, by, count: NEIGHBOURS };
  const asked = useAnswer<Neighbours>(here || point === null ? null : "neighbours", given);
  return { found: here ? own : point === null ? [] : (asked.answer?.neighbours ?? []), error: here ? null : asked.error };
}

interface Props {
  embedding: Embedding;
  point: number;
  by: Measure;
  neighbours: readonly Neighbour[];
  error: string | null;
  sprite: { image: CanvasImageSource; cut: Sprite } | null;
  column: number;
}

/** What is known of the picked point, and its nearest neighbours. */
export function PointPanel({ embedding, point, by, neighbours, error, sprite, column }: Props) {
  const { columns } = embedding;
  return (
    <Panel title={nameOf(embedding, point, column)} about={`Point ${placeOf(embedding, point).toLocaleString("en-US")}`}>
      {sprite ? <Thumb sprite={sprite} place={placeOf(embedding, point)} size={64} /> : null}
      {columns.length > 1 ? (
        <dl class="projector-facts">
          {columns.map((each, at) => (
            <>
              <dt>{columnTitle(each, at, columns.length)}</dt>
              <dd>{each.labels[each.of[point] ?? 0]}</dd>
            </>
          ))}
        </dl>
      ) : null}
      <h3>Nearest neighbours</h3>
      <Choice label="Distance" quiet options={MEASURES} value={by} onChange={(value) => choose({ by: value === "euclidean" ? undefined : value })} />
      <p class="quiet">{basis(embedding)}</p>
      {error ? <Problem text={error} /> : null}
      <ol class="projector-list">
        {neighbours.map(([row, far]) => (
          <li key={row}>
            <button type="button" onClick={() => choose({ point: String(row) })}>
              {sprite ? <Thumb sprite={sprite} place={placeOf(embedding, row)} size={24} /> : null}
              <span class="projector-name">{nameOf(embedding, row, column)}</span>
              <span class="projector-number">{number(far)}</span>
            </button>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function basis(embedding: Embedding): string {
  const all = embedding.dimensions === 1 ? "In its one dimension." : `In all ${embedding.dimensions.toLocaleString("en-US")} dimensions.`;
  if (embedding.whole || !isReport()) return all;
  const share = embedding.shares.reduce((sum, each) => sum + each, 0);
  return `In the first ${embedding.kept} principal components, with ${Math.floor(share * 1000) / 10} % of the variance: the file holds no more.`;
}
