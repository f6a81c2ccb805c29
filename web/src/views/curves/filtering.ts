// Which tags are shown, and in what order.

export interface Filter {
  matches: (tag: string) => boolean;
  /** Why the text is not a regular expression; it is then looked for as it stands. */
  fault: string | null;
}

export function filterOf(text: string): Filter {
  if (!text) return { matches: () => true, fault: null };
  try {
    const pattern = new RegExp(text, "iu");
    return { matches: (tag) => pattern.test(tag), fault: null };
  } catch (error) {
    const plain = text.toLowerCase();
    const why = (error as Error).message.replace(/^Invalid regular expression: /, "");
    return { matches: (tag) => tag.toLowerCase().includes(plain), fault: why };
  }
}

export interface TagGroup {
  name: string;
  tags: string[];
}

export const PINNED = "Pinned";
const PLAIN = "General";

/** What is before the first slash; what the script itself logged (user/...) has one word more. */
export function prefixOf(tag: string): string {
  const parts = tag.split("/");
  if (parts.length < 2) return PLAIN;
  return parts[0] === "user" && parts.length > 2 ? `user/${parts[1]}` : parts[0]!;
}

/** The loss and what is beside it first, the rest in the order in which it came; what is pinned above all. */
export function groupTags(tags: string[], loss: string | null, pinned: ReadonlySet<string>): TagGroup[] {
  const first = loss !== null && tags.includes(loss) ? [loss] : [];
  const groups = new Map<string, string[]>();
  const kept = tags.filter((tag) => pinned.has(tag));
  if (kept.length) groups.set(PINNED, kept);
  for (const tag of [...first, ...tags.filter((each) => each !== first[0])]) {
    const name = prefixOf(tag);
    const group = groups.get(name);
    if (group) group.push(tag);
    else groups.set(name, [tag]);
  }
  return [...groups].map(([name, members]) => ({ name, tags: members }));
}
