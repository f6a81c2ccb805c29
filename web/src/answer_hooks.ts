import { useEffect, useRef, useState } from "preact/hooks";
import { ask, keyOf, type Parameters } from "./asking";

export interface Asked<T> {
  answer: T | null;
  error: string | null;
  asking: boolean;
}

/** Asks again when the question or the run's version changes; the old answer stays until the new one is there, so
 *  that nothing flickers. A null question asks nothing. A question under way is left to end when only the version
 *  changes: a run that grows faster than it is read would else never be answered. */
export function useAnswer<T>(question: string | null, parameters: Parameters = {}, version = ""): Asked<T> {
  const [state, setState] = useState<Asked<T>>({ answer: null, error: null, asking: question !== null });
  const key = question === null ? null : keyOf(question, parameters);
  const shown = useRef<string | null>(null);
  const wanted = useRef(version);
  const look = useRef(() => {});
  wanted.current = version;
  useEffect(() => {
    if (question === null) return;
    const stop = new AbortController();
    const tell = (made: (old: Asked<T>) => Asked<T>) => {
      if (!stop.signal.aborted) setState(made);
    };
    const askNow = async () => {
      tell((old) => ({ answer: shown.current === key ? old.answer : null, error: null, asking: true }));
      try {
        const answer = await ask<T>(question, parameters, stop.signal);
        if (!stop.signal.aborted) shown.current = key;
        tell(() => ({ answer, error: null, asking: false }));
      } catch (error) {
        tell((old) => ({ ...old, error: (error as Error).message, asking: false }));
      }
    };
    look.current = oneAfterTheOther(askNow, wanted, stop.signal);
    look.current();
    return () => stop.abort();
  }, [key]);
  useEffect(() => look.current(), [version]);
  return state;
}

/** Does something once for each version, never twice at the same time; of versions that pass meanwhile the last counts. */
function oneAfterTheOther(act: () => Promise<void>, wanted: { current: string }, signal: AbortSignal): () => void {
  let done: string | null = null;
  let busy = false;
  const look = () => {
    if (busy || signal.aborted || done === wanted.current) return;
    busy = true;
    done = wanted.current;
    void act().finally(() => {
      busy = false;
      look();
    });
  };
  return look;
}
