import { useEffect, useRef } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { toNumber, type Num } from "../../answers";
import { Chart } from "../../charts/Chart";
import { Panel } from "../../pieces/Panel";
import { Problem, Waiting } from "../../states";

interface RankCurves {
  rank: number;
  curves: { tag: string; steps: number[]; values: Num[] }[];
  all_tags: number;
}

/** The scalars of one rank, as its own log has them. */
export function Curves({ run, rank, version }: { run: string; rank: string; version: string }) {
  const { answer, error } = useAnswer<RankCurves>("rank_curves", { run, rank }, version);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [rank, answer === null]);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what={`the curves of rank ${rank}`} />;
  const more = answer.all_tags - answer.curves.length;
  return (
    <div ref={box}>
      <Panel title={`Curves of rank ${answer.rank}`} about={more > 0 ? `${more} more tags are not shown here.` : undefined}>
        <div class="ranks-curves">
          {answer.curves.map(({ tag, steps, values }) => (
            <figure key={tag}>
              <figcaption title={tag}>{tag}</figcaption>
              <Chart label={`${tag} of rank ${answer.rank}`} lines={[{ name: tag, x: steps, y: values.map(toNumber) }]} height={160} syncKey="ranks" />
            </figure>
          ))}
        </div>
      </Panel>
    </div>
  );
}
