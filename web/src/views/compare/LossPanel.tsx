import { useMemo } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { isReport } from "../../asking";
import { Chart } from "../../charts/Chart";
import { useTick } from "../../frame/runs";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { Panel } from "../../pieces/Panel";
import { writeNames } from "../../run_names";
import { linesOf, type Losses } from "./comparison";

const AGAIN_MS = 20_000;

interface Props {
  names: readonly string[];
  titleOf: (name: string) => string;
  /** Where the two that are held against each other part. */
  step: number | null;
  pair: string;
  log: boolean;
}

/** The losses of all chosen runs. */
export function LossPanel({ names, titleOf, step, pair, log }: Props) {
  const { answer } = useAnswer<Losses>("losses", isReport() ? {} : { runs: writeNames(names) }, useTick(AGAIN_MS));
  const lines = useMemo(() => (answer ? linesOf(names, answer, titleOf) : []), [answer, titleOf]);
  if (!answer || !lines.length) return null;
  const title = names.length === 2 ? "Loss of both runs" : `Loss of the ${names.length} runs`;
  const drawn = Object.keys(answer.runs).length;
  const about = [step === null ? "" : `The dashed line is step ${step}, at which ${pair} part.`, drawn < answer.all ? `The first ${drawn} of ${answer.all} runs are drawn.` : ""].filter(Boolean).join(" ");
  const axis = (
    <Button pressed={log} onClick={() => choose({ log: log ? undefined : "1" })}>
      Log scale
    </Button>
  );
  return (
    <Panel title={title} tools={axis} about={about || undefined}>
      <Chart label={title} lines={lines} logY={log} height={260} marks={step === null ? [] : [{ x: step, label: "they part", colour: "--quiet" }]} />
    </Panel>
  );
}
