import { useMemo, useState } from "preact/hooks";
import type { Box } from "../../../../torch_debugger/report/model_graph_scene.js";
import { useAnswer } from "../../answer_hooks";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { Choice } from "../../pieces/Choice";
import { Select } from "../../pieces/Select";
import { count, si } from "../../pieces/numbers";
import { Problem } from "../../states";
import { ColourTools } from "./ColourTools";
import { Drawing } from "./Drawing";
import { ModulePanel } from "./ModulePanel";
import { ModuleSearch } from "./ModuleSearch";
import { ModuleTree } from "./ModuleTree";
import { lookAt, worstFindings } from "./looks";
import { fixedNumbers, healthNumbers, isFixed, type Measured } from "./module_numbers";
import { fullPath, type Health, type Model } from "./model_answers";
import { changedText, findPart, openKeys } from "./openings";

interface Props {
  run: string;
  model: Model;
  chosen: Record<string, string>;
  version: string;
}

type Way = "drawing" | "table";

export function ModelPage({ run, model, chosen, version }: Props) {
  const [only, setOnly] = useState<ReadonlySet<string> | null>(null);
  const way: Way = chosen.look === "table" || chosen.look === "drawing" ? chosen.look : isNarrow() ? "table" : "drawing";
  const module = model.modules.find((each) => each.path === chosen.module) ?? null;
  const told = module ?? model.modules[0]; // nothing chosen: the model as a whole
  const colour = model.logged ? "" : (chosen.colour ?? "");
  const asked = colour && !isFixed(colour) ? "model_health" : null;
  const health = useAnswer<Health>(asked, { run, root: model.root, number: colour }, version);
  const measured = useMemo(() => {
    if (isFixed(colour)) return fixedNumbers(colour, model.modules);
    return asked && health.answer ? healthNumbers(health.answer, chosen.step) : null;
  }, [model, colour, health.answer, chosen.step]);
  const paths = useMemo(() => model.modules.map((each) => each.path), [model]);
  const take = (path: string) => choose({ module: path, open: openedFor(model, chosen.open ?? "", path) });
  return (
    <>
      <Heading model={model} />
      <div class="model-bar">
        {model.roots.length > 1 ? <Roots model={model} /> : null}
        <Choice label="Shown as" quiet options={WAYS} value={way} onChange={(value) => choose({ look: value })} />
        <ModuleSearch paths={paths} onChoose={take} onSearch={setOnly} />
        {model.logged ? null : <ColourTools numbers={model.numbers} chosen={colour} health={asked ? health.answer : null} measured={measured} />}
      </div>
      {health.error && asked ? <Problem text={health.error} /> : null}
      <div class="model-both">
        {way === "drawing" ? (
          <ModelDrawing model={model} chosen={chosen} measured={measured} />
        ) : (
          <ModuleTree modules={model.modules} logged={model.logged === true} only={only} chosen={module?.path ?? null} onChoose={take} measured={measured} />
        )}
        {told ? (
          <aside class="model-side" aria-label="Chosen module">
            <ModulePanel
              run={run}
              module={told}
              drawn={told.path === model.root || findPart(model.drawing, relative(model, told.path)) !== null}
              measured={measured}
            />
          </aside>
        ) : null}
      </div>
    </>
  );
}

const WAYS = [
  { value: "drawing", title: "Drawing" },
  { value: "table", title: "Table" },
] as const;

function Heading({ model }: { model: Model }) {
  const whole = model.modules[0];
  const told = [
    count(model.all_modules, "module"),
    model.operations === undefined ? "" : count(model.operations, "operation"),
    model.logged && !whole?.parameters ? "" : `${si(whole?.parameters ?? 0)} parameters`,
    whole?.flops ? `${whole.missing ? "at least " : ""}${si(whole.flops)} FLOPs a forward` : "",
    model.logged ? "as add_graph has logged it" : "",
    model.step === null ? "" : `as it ran in step ${model.step}`,
  ];
  return (
    <header class="model-heading">
      <h1>
        {model.root} <span class="quiet">{model.class}</span>
      </h1>
      <p class="quiet">{told.filter(Boolean).join(", ")}.</p>
      {model.note ? <p class="model-note">{model.note}</p> : null}
      {model.all_modules > model.modules.length ? (
        <p class="model-note">The first {count(model.modules.length, "module")} are shown in the table.</p>
      ) : null}
    </header>
  );
}

function Roots({ model }: { model: Model }) {
  const options = model.roots.map((root) => ({ value: root, title: root }));
  const change = (root: string) => choose({ root: root === model.largest ? undefined : root, module: undefined, open: undefined });
  return <Select label="Model" options={options} value={model.root} onChange={change} />;
}

function ModelDrawing({ model, chosen, measured }: Pick<Props, "model" | "chosen"> & { measured: Measured | null }) {
  const data = model.drawing;
  const open = useMemo(() => openKeys(data, chosen.open ?? ""), [data, chosen.open]);
  const worst = useMemo(() => worstFindings(model.modules), [model]);
  const place = chosen.module ? findPart(data, relative(model, chosen.module)) : null;
  const press = (box: Box) => {
    const next = new Set(open);
    if (box.part.opens && !next.delete(box.part.key)) next.add(box.part.key);
    const module = box.part.kind === "module" ? fullPath(model.root, box.part.path) : chosen.module;
    choose({ open: changedText(data, next), module });
  };
  return (
    <Drawing
      data={data}
      open={open}
      title={`The modules of ${model.root} and what flows between them`}
      target={place?.part.key ?? null}
      lookOf={(box) => lookAt(box, model, chosen.module ?? null, measured, worst)}
      onPress={press}
    >
      <Button onClick={() => choose({ open: changedText(data, new Set()) })}>Close all</Button>
      <Button onClick={() => choose({ open: undefined })}>As at first</Button>
    </Drawing>
  );
}

/** With the way to a module open. */
function openedFor(model: Model, changed: string, path: string): string {
  const found = findPart(model.drawing, relative(model, path));
  return changedText(model.drawing, new Set([...openKeys(model.drawing, changed), ...(found?.around ?? [])]));
}

function relative(model: Model, path: string): string {
  return path === model.root ? "" : path.slice(model.root.length + 1);
}

function isNarrow(): boolean {
  return matchMedia("(max-width: 40rem)").matches;
}
