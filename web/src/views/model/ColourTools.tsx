import { choose } from "../../links";
import { Select } from "../../pieces/Select";
import { Slider } from "../../pieces/Slider";
import { Legend } from "./Legend";
import { FIXED_CHOICES, type Measured } from "./module_numbers";
import type { Health, HealthNumber } from "./model_answers";

interface Props {
  numbers: readonly HealthNumber[];
  chosen: string;
  health: Health | null;
  measured: Measured | null;
}

export function ColourTools({ numbers, chosen, health, measured }: Props) {
  const measurable = numbers.map(({ key, title, says }) => ({ value: key, title, hint: says }));
  const options = [{ value: "", title: "nothing" }, ...FIXED_CHOICES, ...measurable];
  return (
    <div class="model-colours">
      <Select label="Colour by" options={options} value={chosen} onChange={(value) => choose({ colour: value, step: undefined })} />
      {health && measured?.step !== undefined ? (
        <Slider label="Step" stops={health.steps} value={measured.step} onChange={(step) => choose({ step: String(step) })} />
      ) : null}
      {measured ? <Legend {...measured} /> : null}
    </div>
  );
}
