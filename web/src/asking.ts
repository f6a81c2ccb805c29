// Every number on the page is the answer to a question: /ask/NAME?key=value, or, in the report, what was written
// into the file beforehand under the same key.

import { findWritten, type Written } from "./written";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Parameters = Record<string, string | number | undefined>;

export class Refusal extends Error {}

/** The server was started with another token than this page has. */
export class Locked extends Error {}

/** Nobody answered: the server has ended, or cannot be reached. */
export class Away extends Error {}

let written: Written | null = null;
let csrf = "";

/** Called once, by the report: from now on nothing is fetched. */
export function answerFrom(answers: Written): void {
  written = answers;
}

export function isReport(): boolean {
  return written !== null;
}

export function setEditToken(token: string): void {
  csrf = token;
}

/** The key of a question: its name and what is given with it, sorted, nothing empty. */
export function keyOf(question: string, parameters: Parameters = {}): string {
  const given = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== "")
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query ? `${question}?${query}` : question;
}

export async function ask<T>(question: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  const key = keyOf(question, parameters);
  if (written !== null) return held<T>(fromFile(key));
  return read<T>(await reach(key, signal ? { signal } : {}));
}

/** The explicit local edits (a name, a tag, a note, a deletion); refused without the page's own token. */
export async function tell<T>(question: string, body: Json): Promise<T> {
  const headers = { "Content-Type": "application/json", "X-Edit-Token": csrf };
  return read<T>(await reach(question, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** Where a file is fetched from (a picture, a sound); in the report it is a data: URL among the answers. */
export function addressOf(question: string, parameters: Parameters = {}): string {
  const key = keyOf(question, parameters);
  if (written === null) return fileBeside(`ask/${key}`);
  const kept = fromFile(key);
  return typeof kept === "string" ? kept : "";
}

const beside = import.meta.url; // by a name of its own: Vite would take `new URL(..., import.meta.url)` for a file to bundle

/** The address of what the server has beside the page's script. */
export function fileBeside(name: string): string {
  return new URL(name, beside).href;
}

function fromFile(key: string): unknown {
  const kept = written === null ? undefined : findWritten(written, key);
  if (kept === undefined) console.debug(`This file has no answer to ${key}`);
  return kept;
}

function held<T>(kept: unknown): Promise<T> {
  if (kept !== undefined) return Promise.resolve(kept as T);
  return Promise.reject(new Refusal("This file does not hold that. Open the run with torch-debugger view."));
}

async function reach(key: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(fileBeside(`ask/${key}`), { credentials: "same-origin", ...options });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Away("The server does not answer.");
  }
}

async function read<T>(reply: Response): Promise<T> {
  if (reply.status === 401) throw new Locked("The server asks for its token. Open the page with the whole address that torch-debugger printed.");
  const answer = (await reply.json().catch((error: unknown) => {
    if (reply.ok) throw error; // the request was given up while its answer came
    return { error: `The server answered ${reply.status}.` };
  })) as unknown;
  if (!reply.ok) throw new Refusal(String((answer as { error?: unknown }).error ?? `The server answered ${reply.status}.`));
  return answer as T;
}
