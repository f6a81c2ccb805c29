import { useEffect, useState } from "preact/hooks";
import type { PollAnswer } from "../answers";
import { ask, Away, isReport, Locked } from "../asking";

const EVERY_MS = 400;
const STILL_MS = 2000; // nothing was written for long
const HIDDEN_MS = 10_000; // nobody looks
const AWAY_MS = 2000;

export interface PollState {
  /** Changes whenever something was written, and when the server is back after it was away. */
  version: string;
  /** The server does not answer. */
  away: boolean;
  /** The server answers nobody without its token. */
  locked: boolean;
  /** The run is no longer among those the server knows. */
  gone: boolean;
  /** How often it came back. */
  returns: number;
  /** How much of the log the server has read, while it reads one that takes long. */
  read: number | null;
}

export const QUIET: PollState = { version: "", away: false, locked: false, gone: false, returns: 0, read: null };

/** What follows from what was heard. A run at rest that is as it was at the first look has the empty version: what
 *  is shown was asked for just then, and need not be asked for again. */
export function nextPollState(old: PollState, heard: PollAnswer | Error, atFirst: string | null): PollState {
  if (heard instanceof Away) return old.away ? old : { ...old, away: true };
  if (heard instanceof Locked) return old.locked ? old : { ...old, away: false, locked: true };
  if (heard instanceof Error) return old.gone && !old.away ? old : { ...old, away: false, gone: true };
  const returns = old.returns + (old.away || old.gone || old.locked ? 1 : 0);
  const word = heard.version === atFirst && !heard.growing ? "" : heard.version;
  const version = returns ? `${word} ${returns}` : word;
  const read = heard.read_share ?? null;
  return version === old.version && returns === old.returns && read === old.read ? old : { version, away: false, locked: false, gone: false, returns, read };
}

export function usePolling(run: string): PollState {
  const [beat, setBeat] = useState(QUIET);
  useEffect(() => {
    setBeat(QUIET);
    return isReport() ? undefined : follow(run, setBeat);
  }, [run]);
  return beat;
}

function follow(run: string, setBeat: (change: (old: PollState) => PollState) => void): () => void {
  let timer = 0;
  let over = false;
  let atFirst: string | null = null;
  const look = async () => {
    clearTimeout(timer);
    const heard = await ask<PollAnswer>("pulse", { run }).catch((error: Error) => error);
    if (over) return;
    if (!(heard instanceof Error)) atFirst ??= heard.version;
    setBeat((old) => nextPollState(old, heard, atFirst));
    clearTimeout(timer); // another look may have begun meanwhile
    timer = window.setTimeout(() => void look(), pauseAfter(heard));
  };
  const seen = () => {
    if (!document.hidden) void look();
  };
  void look();
  document.addEventListener("visibilitychange", seen);
  return () => {
    over = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}

function pauseAfter(heard: PollAnswer | Error): number {
  if (document.hidden) return HIDDEN_MS;
  if (heard instanceof Error) return AWAY_MS;
  return heard.growing || heard.read_share !== undefined ? EVERY_MS : STILL_MS;
}
