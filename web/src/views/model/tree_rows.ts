// The modules as rows of a tree: what is open shows what it holds.
import type { Module } from "./model_answers";

export interface TreeRow {
  module: Module;
  level: number;
  /** Null for a module that holds no other. */
  open: boolean | null;
}

export function holderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

/** Those in sight; with `only`, these and whatever holds them, all open. */
export function treeRows(modules: readonly Module[], open: ReadonlySet<string>, only: ReadonlySet<string> | null): TreeRow[] {
  const known = new Set(modules.map((module) => module.path));
  const holders = new Set(modules.map((module) => holderOf(module.path)));
  const kept = only && withHolders(only, known);
  const shown = new Set<string>();
  const rows: TreeRow[] = [];
  for (const module of modules) {
    const holder = holderOf(module.path);
    const above = known.has(holder);
    const isShown = kept ? kept.has(module.path) : !above || (shown.has(holder) && open.has(holder));
    if (!isShown) continue;
    shown.add(module.path);
    const level = above ? (rows.findLast((row) => row.module.path === holder)?.level ?? 0) + 1 : 1;
    rows.push({ module, level, open: holders.has(module.path) ? kept !== null || open.has(module.path) : null });
  }
  return rows;
}

function withHolders(paths: ReadonlySet<string>, known: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  for (const path of paths) for (let at = path; known.has(at); at = holderOf(at)) found.add(at);
  return found;
}
