// What a report holds in place of a server: answers by the keys of their questions. A view asks for as much as its
// screen has room for and for the range that is zoomed to; the file holds one answer, which serves for all of these.

export type Written = Record<string, unknown>;

/** What says how much or which part of a thing is wanted, and not which thing. */
const DETAILS = new Set(["from", "to", "width", "height", "points", "buckets"]);

/** The answer under this key, else one that differs in details only; undefined if there is none. */
export function findWritten(answers: Written, key: string): unknown {
  if (Object.hasOwn(answers, key)) return answers[key];
  const alike = byThing(answers).get(withoutDetails(key));
  return alike === undefined ? undefined : answers[alike];
}

let known: { of: Written; keys: Map<string, string> } | null = null;

function byThing(answers: Written): Map<string, string> {
  if (known?.of !== answers) known = { of: answers, keys: new Map(Object.keys(answers).map((key) => [withoutDetails(key), key])) };
  return known.keys;
}

function withoutDetails(key: string): string {
  const [question = "", query = ""] = key.split("?", 2);
  const given = [...new URLSearchParams(query)].filter(([name]) => !DETAILS.has(name));
  return `${question}?${new URLSearchParams(given).toString()}`;
}
