// The number that each module has in what the drawing is coloured by, at the chosen step.
import type { Num } from "../../answers";
import { nearestPlace } from "../../pieces/Slider";
import { number, si } from "../../pieces/numbers";
import { scaleOf, type Scale } from "./colouring";
import type { Health, Module } from "./model_answers";

export interface Measured {
  title: string;
  about: string;
  scale: Scale | null;
  /** Undefined for what no step belongs to: parameters, FLOPs. */
  step: number | undefined;
  of: (path: string) => Num | undefined;
  odd: boolean;
  /** What a module without the number has: none, or it was not measured. */
  none: string;
  say: (value: Num | undefined) => string;
}

const FIXED: Record<string, { title: string; about: string; of: (module: Module) => number | null }> = {
  parameters: { title: "Parameters", about: "Values that a module holds, with all below it.", of: (module) => module.parameters },
  flops: { title: "FLOPs", about: "Of one forward, with all below it, as far as they are known.", of: (module) => module.flops },
};

export const FIXED_CHOICES = Object.entries(FIXED).map(([value, { title, about }]) => ({ value, title, hint: about }));

export function isFixed(name: string): boolean {
  return name in FIXED;
}

export function fixedNumbers(name: string, modules: readonly Module[]): Measured {
  const { title, about, of } = FIXED[name] ?? FIXED.parameters!;
  const values = new Map(modules.map((module) => [module.path, of(module) || null]));
  return { title, about, scale: scaleOf([...values.values()]), step: undefined, of: (path) => values.get(path), odd: false, none: "none", say: (value) => (value ? si(value) : "none") };
}

/** Without a step, at the last one. */
export function healthNumbers(health: Health, step: string | undefined): Measured {
  const at = nearestPlace(health.steps, step === undefined ? (health.steps.at(-1) ?? 0) : Number(step));
  const values = new Map(health.modules.map((path, row) => [path, health.values[row]?.[at] ?? null]));
  return {
    title: health.title,
    about: health.says,
    scale: scaleOf(health.values.flat()),
    step: health.steps[at],
    of: (path) => values.get(path),
    odd: health.values.some((row) => row.some((value) => typeof value === "string")),
    none: "not measured",
    say: number,
  };
}
