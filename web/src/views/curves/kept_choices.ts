// What was set for a run's curves is still set when one comes back from another view, for as long as the page lives.
import { useEffect } from "preact/hooks";
import { choose } from "../../links";

const SETTINGS = ["smooth", "x", "logx", "logy", "apart", "runs", "by", "pins", "closed"] as const;
const PLAIN = new Set(["run", "tag"]); // all that the page's own links to this view say

type Chosen = Record<string, string>;

const kept = new Map<string, Chosen>();

/** What to set again; null where the address says something itself. */
export function settingsFor(run: string, chosen: Chosen): Chosen | null {
  const before = kept.get(run);
  const plain = Object.keys(chosen).every((name) => PLAIN.has(name));
  return plain && before && Object.keys(before).length ? before : null;
}

export function keepSettings(run: string, chosen: Chosen): void {
  kept.set(run, Object.fromEntries(SETTINGS.flatMap((name) => (chosen[name] === undefined ? [] : [[name, chosen[name]]]))));
}

export function useKeptSettings(run: string, chosen: Chosen): void {
  useEffect(() => {
    const again = settingsFor(run, chosen);
    if (again) choose(again);
  }, [run]);
  const key = JSON.stringify(chosen);
  useEffect(() => () => keepSettings(run, chosen), [run, key]); // when it changes or is left
}
