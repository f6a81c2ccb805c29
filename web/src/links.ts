// Where one is, in the address: #/VIEW?run=NAME&anything=else. Every view keeps what can be chosen in it here, so
// that any sight can be sent to somebody else.
import { useEffect, useState } from "preact/hooks";

export interface Link {
  view: string;
  parameters: Record<string, string>;
}

export function readLink(hash: string): Link {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view: decoded(path), parameters: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // half an escape: an address that was cut
  }
}

export function writeLink({ view, parameters }: Link): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== "");
  const query = new URLSearchParams(given).toString();
  return `#/${encodeURIComponent(view)}${query ? `?${query}` : ""}`;
}

export function useLink(): Link {
  const [link, setLink] = useState(() => readLink(location.hash));
  useEffect(() => {
    const follow = () => setLink(readLink(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return link;
}

/** Changes what is chosen in this view. Undefined takes a choice away; replace: the back button skips it. */
export function choose(changes: Record<string, string | undefined>, replace = true): void {
  const link = readLink(location.hash);
  const parameters = { ...link.parameters };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") delete parameters[name];
    else parameters[name] = value;
  }
  goTo({ view: link.view, parameters }, replace);
}

export function goTo(link: Link, replace = false): void {
  const hash = writeLink(link);
  if (hash === location.hash) return;
  if (replace) {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = hash;
}
