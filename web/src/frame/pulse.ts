import { useEffect, useState } from "preact/hooks";
import type { Pulse } from "../answers";
import { ask, isReport } from "../asking";

const EVERY_MS = 400;
const AWAY_MS = 2000; // the server is gone: ask less often until it is back

/** A word that changes whenever something was written to the run. */
export function usePulse(run: string): string {
  const [version, setVersion] = useState("");
  useEffect(() => {
    if (isReport()) return;
    let timer = 0;
    let over = false;
    const look = async () => {
      let pause = EVERY_MS;
      try {
        const pulse = await ask<Pulse>("pulse", { run });
        if (!over) setVersion(pulse.version);
      } catch {
        pause = AWAY_MS;
      }
      if (!over) timer = window.setTimeout(() => void look(), pause);
    };
    void look();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [run]);
  return version;
}
