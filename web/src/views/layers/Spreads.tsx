import { useAnswer } from "../../answer_hooks";
import { choose } from "../../links";
import { Choice } from "../../pieces/Choice";
import { count, percent } from "../../pieces/numbers";
import { Select } from "../../pieces/Select";
import { Problem, Waiting } from "../../states";
import type { Spread, SpreadSource } from "./answers";
import { Ridges } from "./Ridges";
import { SpreadHeat } from "./SpreadHeat";
import { isDrawable, type DrawableSpread } from "./spread_words";

interface Props {
  run: string;
  sources: SpreadSource[];
  chosen: Record<string, string>;
  version: string;
}

const FORMS = [
  { value: "ridge", title: "Ridges" },
  { value: "heat", title: "Heat" },
] as const;

/** How the values of one tensor of the layer were spread at each look. */
export function Spreads({ run, sources, chosen, version }: Props) {
  const source = sources.find((each) => keyOf(each) === chosen.spread) ?? sources[0];
  const { answer, error } = useAnswer<Spread>(source ? "spreads" : null, { run, of: source?.of, name: source?.name }, version);
  const form = chosen.form === "heat" ? "heat" : "ridge";
  if (!source) return <p class="quiet">No spread was taken of this layer. They are taken of layers without children, and of parameters, at some of the steps that are looked at closely.</p>;
  return (
    <div class="layers-spreads">
      <div class="layers-choosing">
        <Select label="Of" value={keyOf(source)} options={sources.map((each) => ({ value: keyOf(each), title: each.title }))} onChange={(key) => choose({ spread: key })} />
        <Choice label="Drawn as" quiet options={FORMS} value={form} onChange={(value) => choose({ form: value })} />
      </div>
      {error ? <Problem text={error} /> : null}
      {answer && isDrawable(answer) ? <Drawn spread={answer} form={form} /> : error ? null : <Waiting what="the spread" />}
    </div>
  );
}

function Drawn({ spread, form }: { spread: DrawableSpread; form: "ridge" | "heat" }) {
  const outside = Math.max(...spread.outside);
  return (
    <>
      {form === "heat" ? <SpreadHeat spread={spread} /> : <Ridges spread={spread} />}
      <p class="layers-says">
        From at most 512 of its elements, at {count(spread.steps.length, "look")}: a spread is taken at some of the close looks only, ever more rarely.
        {outside > 0.0005 ? ` Up to ${percent(outside)} of them lie outside what is drawn.` : ""}
      </p>
    </>
  );
}

function keyOf(source: SpreadSource): string {
  return `${source.of}:${source.name}`;
}
