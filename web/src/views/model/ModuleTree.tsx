import { useMemo, useState } from "preact/hooks";
import type { Num } from "../../answers";
import { Name } from "../../pieces/Name";
import { si } from "../../pieces/numbers";
import { colourOf } from "./colouring";
import { shapeText, type Module } from "./model_answers";
import type { Measured } from "./module_numbers";
import { holderOf, treeRows, type TreeRow } from "./tree_rows";

interface Props {
  modules: readonly Module[];
  /** A logged graph tells of no FLOPs, and of parameters only where it has their shapes. */
  logged: boolean;
  /** Of the search; null without one. */
  only: ReadonlySet<string> | null;
  chosen: string | null;
  onChoose: (path: string) => void;
  measured: Measured | null;
}

/** The same as the drawing, as a table that needs no sight of it. */
export function ModuleTree({ modules, logged, only, chosen, onChoose, measured }: Props) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const open = useMemo(() => openPaths(modules, toggled, chosen), [modules, toggled, chosen]);
  const rows = useMemo(() => treeRows(modules, open, only), [modules, open, only]);
  const toggle = (path: string) => setToggled((old) => new Set(old.has(path) ? [...old].filter((each) => each !== path) : [...old, path]));
  return (
    <div class="table model-tree" role="region" aria-label="Modules" tabIndex={0}>
      <table role="treegrid" aria-label="Modules of the model" onKeyDown={(event) => moveByKey(event, toggle)}>
        <thead>
          <tr>
            <th scope="col">Module</th>
            <th scope="col">Class</th>
            {logged && !modules[0]?.parameters ? null : <th scope="col" class="numeric">Parameters</th>}
            {logged ? null : <th scope="col" class="numeric">FLOPs</th>}
            <th scope="col">Made</th>
            {measured ? <th scope="col" class="numeric">{measured.title}</th> : null}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <Row key={row.module.path} row={row} logged={logged} sized={!logged || !!modules[0]?.parameters} first={at === 0} chosen={chosen} onChoose={onChoose} onToggle={toggle} measured={measured} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The first two levels are open, and whatever holds the chosen module. */
function openPaths(modules: readonly Module[], toggled: ReadonlySet<string>, chosen: string | null): Set<string> {
  const open = new Set<string>();
  const first = modules[0]?.path ?? "";
  for (const { path } of modules) if (path === first || holderOf(path) === first) open.add(path);
  for (const path of toggled) if (!open.delete(path)) open.add(path);
  for (let at = holderOf(chosen ?? ""); at; at = holderOf(at)) open.add(at);
  return open;
}

interface RowProps extends Pick<Props, "chosen" | "onChoose" | "measured" | "logged"> {
  sized: boolean;
  row: TreeRow;
  first: boolean;
  onToggle: (path: string) => void;
}

function Row({ row, logged, sized, first, chosen, onChoose, onToggle, measured }: RowProps) {
  const { module, level, open } = row;
  const isChosen = module.path === chosen;
  const short = level === 1 ? module.path : module.path.slice(holderOf(module.path).length + 1);
  return (
    <tr
      data-path={module.path}
      data-walk
      aria-level={level}
      aria-expanded={open ?? undefined}
      aria-selected={isChosen}
      class={isChosen ? "model-row-chosen" : undefined}
      tabIndex={isChosen || (chosen === null && first) ? 0 : -1}
      onClick={() => onChoose(module.path)}
    >
      <th scope="row" style={{ paddingInlineStart: `${(level - 1) * 1.1}rem` }}>
        <span class="model-twist" aria-hidden="true" onClick={(event) => open !== null && (event.stopPropagation(), onToggle(module.path))}>
          {open === null ? "" : open ? "▾" : "▸"}
        </span>
        <Name text={short} />
      </th>
      <td>{module.class}</td>
      {sized ? <td class="numeric">{module.parameters.toLocaleString("en-US")}</td> : null}
      {logged ? null : <td class="numeric" title={module.missing || undefined}>{flops(module)}</td>}
      <td>{module.made.map(shapeText).join(", ")}</td>
      {measured ? <MeasuredCell value={measured.of(module.path)} measured={measured} /> : null}
    </tr>
  );
}

function flops(module: Module): string {
  if (module.flops === null || (module.missing && !module.flops)) return "not known";
  return `${module.missing ? "≥ " : ""}${si(module.flops)}`;
}

function MeasuredCell({ value, measured }: { value: Num | undefined; measured: Measured }) {
  const colour = colourOf(measured.scale, value);
  if (!colour) return <td class="numeric quiet">{measured.none}</td>;
  return (
    <td class="numeric">
      <span class="model-swatch" style={{ background: colour.fill }} aria-hidden="true" />
      {measured.say(value)}
    </td>
  );
}

/** Up and down go from row to row; left and right close and open, as in any tree. */
function moveByKey(event: KeyboardEvent, toggle: (path: string) => void): void {
  const row = (event.target as Element).closest<HTMLElement>("tr[data-path]");
  if (!row) return;
  const expanded = row.getAttribute("aria-expanded");
  const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
  if (next instanceof HTMLElement) next.focus();
  else if (event.key === "Enter" || event.key === " ") row.click();
  else if ((event.key === "ArrowRight" && expanded === "false") || (event.key === "ArrowLeft" && expanded === "true")) toggle(row.dataset.path ?? "");
  else return;
  event.preventDefault();
}
