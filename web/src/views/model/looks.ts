// How a box looks, and what is said of it to whoever cannot see it.
import type { Box } from "../../../../torch_debugger/report/model_graph_scene.js";
import { count, si } from "../../pieces/numbers";
import { colourOf } from "./colouring";
import { fullPath, type Model, type Module } from "./model_answers";
import type { Measured } from "./module_numbers";
import type { Look } from "./Shapes";

type Severity = "error" | "warning" | "note";
const ORDER: Severity[] = ["note", "warning", "error"];

/** By path: the worst finding of a module and of all that it holds. */
export function worstFindings(modules: readonly Module[]): Map<string, Severity> {
  const found = new Map<string, Severity>();
  for (const module of modules) {
    for (const { severity } of module.findings) {
      const names = module.path.split(".");
      for (let end = 1; end <= names.length; end += 1) {
        const path = names.slice(0, end).join(".");
        const known = found.get(path);
        if (!known || ORDER.indexOf(severity) > ORDER.indexOf(known)) found.set(path, severity);
      }
    }
  }
  return found;
}

export function lookAt(box: Box, model: Model, chosen: string | null, measured: Measured | null, worst: Map<string, Severity>): Look {
  const path = box.part.kind === "module" ? fullPath(model.root, box.part.path) : null;
  const value = path === null ? undefined : measured?.of(path);
  const module = path === null ? undefined : byPath(model).get(path);
  return {
    label: labelOf(box, path, module, measured && path !== null ? `${measured.title} ${measured.say(value)}` : ""),
    colour: measured ? colourOf(measured.scale, value) : null,
    chosen: path !== null && path === chosen,
    finding: path === null ? null : (worst.get(path) ?? null),
  };
}

function labelOf(box: Box, path: string | null, module: Module | undefined, more: string): string {
  const { part } = box;
  if (path === null) return [part.name, part.beside, part.below].filter(Boolean).join(", ");
  const held = module?.parameters ? `${si(module.parameters)} ${module.parameters === 1 ? "parameter" : "parameters"}` : "";
  const found = module?.findings.length ? count(module.findings.length, "finding") : "";
  return [path, module?.class ?? part.beside, held, more, found].filter(Boolean).join(", ");
}

const known = new WeakMap<Model, Map<string, Module>>();

function byPath(model: Model): Map<string, Module> {
  let found = known.get(model);
  if (!found) known.set(model, (found = new Map(model.modules.map((module) => [module.path, module]))));
  return found;
}
