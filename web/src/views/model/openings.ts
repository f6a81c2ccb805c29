// Which parts of the drawing are open, as the address keeps it: what differs from how it is at first.
import type { DrawingData, Part } from "../../../../torch_debugger/report/model_graph_scene.js";

export function openKeys(data: DrawingData, changed: string): Set<string> {
  const open = new Set(data.opened);
  for (const word of changed.split(",").filter(Boolean)) {
    const key = word.replaceAll("%2C", ",").replaceAll("%25", "%");
    if (!(key in data.groups)) continue;
    if (!open.delete(key)) open.add(key);
  }
  return open;
}

export function changedText(data: DrawingData, open: ReadonlySet<string>): string {
  const changed = Object.keys(data.groups).filter((key) => open.has(key) !== data.opened.includes(key));
  return changed.filter(Boolean).map((key) => key.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
}

export interface Found {
  part: Part;
  /** The parts around it, the outermost first. */
  around: string[];
}

/** Where a module is drawn: its first call; null for one that was not called. */
export function findPart(data: DrawingData, path: string): Found | null {
  const waiting: { key: string; around: string[] }[] = [{ key: "", around: [] }];
  for (let group = waiting.shift(); group; group = waiting.shift()) {
    for (const part of data.groups[group.key]?.parts ?? []) {
      if (part.kind === "module" && part.path === path) return { part, around: group.around };
      if (part.opens) waiting.push({ key: part.key, around: [...group.around, part.key] });
    }
  }
  return null;
}

/** The paths that hold all the words of the search, those that begin or end with it first. */
export function searchPaths(paths: readonly string[], said: string, most = 8): string[] {
  const words = said.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const found = paths.filter((path) => words.every((word) => path.toLowerCase().includes(word)));
  const rank = (path: string) => (path.toLowerCase().endsWith(words.at(-1) ?? "") ? 0 : 1);
  return found.sort((one, other) => rank(one) - rank(other) || one.length - other.length).slice(0, most);
}
