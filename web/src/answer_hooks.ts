import { useEffect, useRef, useState } from "preact/hooks";
import { ask, keyOf, type Parameters } from "./asking";

export interface Asked<T> {
  answer: T | null;
  error: string | null;
  asking: boolean;
}

/** Asks again when the question or the run's version changes; the old answer stays until the new one is there, so
 *  that nothing flickers. A null question asks nothing. */
export function useAnswer<T>(question: string | null, parameters: Parameters = {}, version = ""): Asked<T> {
  const [state, setState] = useState<Asked<T>>({ answer: null, error: null, asking: question !== null });
  const key = question === null ? null : keyOf(question, parameters);
  const shown = useRef<string | null>(null);
  useEffect(() => {
    if (question === null) return;
    const stop = new AbortController();
    setState((old) => ({ answer: shown.current === key ? old.answer : null, error: null, asking: true }));
    ask<T>(question, parameters, stop.signal).then(
      (answer) => {
        if (stop.signal.aborted) return;
        shown.current = key;
        setState({ answer, error: null, asking: false });
      },
      (error: Error) => {
        if (!stop.signal.aborted) setState((old) => ({ ...old, error: error.message, asking: false }));
      },
    );
    return () => stop.abort();
  }, [key, version]);
  return state;
}
