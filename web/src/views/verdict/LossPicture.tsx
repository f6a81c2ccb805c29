import { useMemo } from "preact/hooks";
import { toNumber } from "../../answers";
import { Chart } from "../../charts/Chart";
import type { Line } from "../../charts/lines";
import { writeLink } from "../../links";
import { VIEWS } from "../../views";
import type { LossCurve, ToldFinding } from "./answers";
import { isWide, oddSentence } from "./words";

const ROOMY = 2560; // pixels: a picture beside the finding may be larger

interface Props {
  run: string;
  loss: LossCurve;
  finding: ToldFinding | undefined;
}

/** The loss, with the step at which the finding begins as an upright line. */
export function LossPicture({ run, loss, finding }: Props) {
  const lines = useMemo(() => [lineOf(loss)], [loss]);
  const begins = finding?.first_step ?? 0;
  const marks = useMemo(() => (begins > 0 ? [{ x: begins, label: `step ${begins}`, colour: "--error" }] : []), [begins]);
  const wide = isWide(loss);
  const odd = oddSentence(loss);
  const about = begins > 0 ? `Loss; the finding begins at step ${begins}` : "Loss";
  return (
    <div class="verdict-loss">
      <Chart label={about} lines={lines} marks={marks} logY={wide} withLegend={false} height={innerWidth >= ROOMY ? 440 : 220} />
      <p class="quiet">
        {odd} {wide ? "Logarithmic axis. " : null}
        {VIEWS.some((view) => view.name === "curves") ? <a href={writeLink({ view: "curves", parameters: { run, tag: loss.tag } })}>All curves</a> : null}
      </p>
    </div>
  );
}

/** By step: a run that was taken up again writes some twice. */
function lineOf(loss: LossCurve): Line {
  const points = loss.steps.map((step, place) => [step, toNumber(loss.values[place])] as const).sort(([one], [other]) => one - other);
  return { name: loss.tag, x: points.map(([step]) => step), y: points.map(([, value]) => value), colour: "--accent" };
}
