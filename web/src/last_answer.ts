import { useRef } from "preact/hooks";

/** The answer, or while another one is on its way the one before: what is shown stays until there is something new. */
export function useLast<T>(answer: T | null): T | null {
  const last = useRef<T | null>(null);
  if (answer !== null) last.current = answer;
  return answer ?? last.current;
}
