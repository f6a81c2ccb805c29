// The table's facts: all rows again and again as they change, details as they come into sight.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, isReport } from "../../asking";
import { useTick } from "../../frame/runs";
import { writeNames } from "../../run_names";
import type { Details, Row } from "./rows";

const EVERY_MS = 2500;
const MANY = 1000; // rows, for which one looks less often
const MANY_MS = 10_000;
const AT_ONCE = 40;

interface RowsAnswer {
  version: string;
  rows: Row[] | null;
  pending: number;
}

export interface Feed {
  rows: Row[] | null;
  pending: number;
  error: string | null;
}

/** Asks again while some could not be read in the time, and every few seconds; nothing is sent that has not changed. */
export function useRows(asAgain = 0): Feed {
  const [feed, setFeed] = useState<Feed>({ rows: null, pending: 0, error: null });
  const version = useRef("");
  const tick = useTick((feed.rows?.length ?? 0) > MANY ? MANY_MS : EVERY_MS);
  useEffect(() => {
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      const answer = await ask<RowsAnswer>("runs", { since: version.current }, stop.signal);
      version.current = answer.version;
      setFeed((old) => ({ rows: answer.rows ?? old.rows, pending: answer.pending, error: null }));
      if (answer.pending) await look();
    };
    look().catch((error: Error) => {
      if (!stop.signal.aborted) setFeed((old) => ({ ...old, error: error.message }));
    });
    return () => stop.abort();
  }, [tick, asAgain]);
  return feed;
}

interface DetailsAnswer {
  runs: Record<string, Details>;
  pending: string[];
}

interface Known {
  changed: number;
  details: Details;
}

/** Of the runs that are wanted, the first ones first; a run that was written to is asked for again. */
export function useDetails(wanted: readonly Row[]): ReadonlyMap<string, Details> {
  const [known, setKnown] = useState<ReadonlyMap<string, Known>>(new Map());
  const missing = wanted.filter((row) => known.get(row.name)?.changed !== row.changed).slice(0, AT_ONCE);
  const asked = missing.map((row) => `${row.name} ${row.changed}`).join("\n");
  useEffect(() => {
    if (asked === "") return;
    // A file holds the details of all its runs under one key.
    const names = isReport() ? "" : writeNames(missing.map((row) => row.name));
    const stop = new AbortController();
    ask<DetailsAnswer>("run_details", { names }, stop.signal).then(
      (answer) => setKnown((old) => completed(old, missing, answer)),
      () => undefined, // the rows say that the server is away
    );
    return () => stop.abort();
  }, [asked]);
  return useMemo(() => new Map([...known].map(([name, each]) => [name, each.details])), [known]);
}

function completed(old: ReadonlyMap<string, Known>, asked: readonly Row[], answer: DetailsAnswer): ReadonlyMap<string, Known> {
  const later = new Set(answer.pending);
  const told = asked.filter((row) => !later.has(row.name));
  return new Map([...old, ...told.map((row): [string, Known] => [row.name, { changed: row.changed, details: answer.runs[row.name] ?? {} }])]);
}
