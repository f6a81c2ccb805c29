// One sentence on what was logged and cannot be seen here.
import type { NotShownKind } from "../answers";

export function notShownInWords(kinds: readonly NotShownKind[]): string {
  if (!kinds.length) return "";
  const each = kinds.map(({ kind, count, tags }) => `${many(count, kind)}${tags.length ? ` (${tags.join(", ")}${count > tags.length ? ", …" : ""})` : ""}`);
  return `Also logged, and not shown by this page: ${each.join("; ")}. TensorBoard reads the same log.`;
}

/** 2 tags of the plugin x; 1 value of no known kind. */
function many(count: number, kind: string): string {
  const [first = "", ...rest] = kind.split(" ");
  return [count.toLocaleString("en-US"), count === 1 ? first : `${first}s`, ...rest].join(" ");
}
