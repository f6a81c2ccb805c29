import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "../answer_hooks";
import { isReport } from "../asking";

/** /ask/names?like=TEXT: the runs written last, as many as a list can show, and how many there are in all. */
export interface Names {
  runs: string[];
  all: number;
}

const PAUSE_MS = 120; // in typing

/** The runs whose names hold what is typed. The last list stays until the next is there. */
export function useRunsLike(typed: string, version: string): Names {
  const like = useSettled(typed.trim());
  const asked = useAnswer<Names>("names", like && !isReport() ? { like } : {}, version);
  const last = useRef<Names>({ runs: [], all: 0 });
  if (asked.answer) last.current = asked.answer;
  return isReport() ? matching(last.current, like) : last.current;
}

/** As the server does it: every word, anywhere in the name, in any case. */
export function matching(names: Names, like: string): Names {
  const words = like.toLowerCase().split(/\s+/).filter(Boolean);
  const runs = names.runs.filter((name) => words.every((word) => name.toLowerCase().includes(word)));
  return { runs, all: runs.length };
}

/** Changes every so often, while the page is looked at. */
export function useTick(everyMs: number): string {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (isReport()) return;
    const timer = setInterval(() => {
      if (!document.hidden) setTick((old) => old + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return String(tick);
}

function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
