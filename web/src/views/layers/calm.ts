import { useEffect, useState } from "preact/hooks";

const EVERY_MS = 2000;

/** The version of a run, at most every two seconds: a grid is read from the whole log. */
export function useCalm(version: string): string {
  const [calm, setCalm] = useState(version);
  const [until, setUntil] = useState(0);
  useEffect(() => {
    if (version === calm) return;
    const later = () => {
      setCalm(version);
      setUntil(Date.now() + EVERY_MS);
    };
    const timer = setTimeout(later, Math.max(0, until - Date.now()));
    return () => clearTimeout(timer);
  }, [version, calm]);
  return calm;
}
