// A small part of Markdown, read into a tree that is drawn as elements: nothing of a text ever becomes HTML.

export type Inline =
  | { is: "text"; text: string }
  | { is: "code"; text: string }
  | { is: "strong" | "emphasis"; parts: Inline[] }
  | { is: "link"; href: string; parts: Inline[] };

export type Block =
  | { is: "paragraph"; parts: Inline[] }
  | { is: "heading"; level: number; parts: Inline[] }
  | { is: "code"; text: string }
  | { is: "list"; ordered: boolean; items: Inline[][] }
  | { is: "quote"; parts: Inline[] }
  | { is: "rule" }
  | { is: "table"; head: Inline[][]; rows: Inline[][][] };

const ITEM = /^\s{0,6}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^\s{0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const MOST_LINES = 5000;

export function parse(text: string): Block[] {
  const lines = text.replace(/\r\n?/g, "\n").split("\n").slice(0, MOST_LINES);
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = readBlock(lines, at);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

function readBlock(lines: string[], at: number): [Block | null, number] {
  const line = lines[at] ?? "";
  if (line.trim() === "") return [null, at + 1];
  if (/^\s{0,3}```/.test(line)) return fenced(lines, at + 1);
  const heading = HEADING.exec(line);
  if (heading) return [{ is: "heading", level: (heading[1] ?? "").length, parts: inline(heading[2] ?? "") }, at + 1];
  if (RULE.test(line)) return [{ is: "rule" }, at + 1];
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "")) return table(lines, at);
  if (ITEM.test(line)) return list(lines, at);
  if (/^\s{0,3}>/.test(line)) return quote(lines, at);
  return paragraph(lines, at);
}

function taken(lines: string[], at: number, goesOn: (line: string) => boolean): number {
  let end = at;
  while (end < lines.length && goesOn(lines[end] ?? "")) end += 1;
  return end;
}

function fenced(lines: string[], at: number): [Block, number] {
  const end = taken(lines, at, (line) => !/^\s{0,3}```\s*$/.test(line));
  return [{ is: "code", text: lines.slice(at, end).join("\n") }, end + 1];
}

function list(lines: string[], at: number): [Block, number] {
  const end = taken(lines, at, (line) => ITEM.test(line));
  const items = lines.slice(at, end).map((line) => inline(ITEM.exec(line)?.[2] ?? ""));
  return [{ is: "list", ordered: ITEM.exec(lines[at] ?? "")?.[1] !== undefined, items }, end];
}

function quote(lines: string[], at: number): [Block, number] {
  const end = taken(lines, at, (line) => /^\s{0,3}>/.test(line));
  return [{ is: "quote", parts: inline(lines.slice(at, end).map((line) => line.replace(/^\s{0,3}>\s?/, "")).join("\n")) }, end];
}

function table(lines: string[], at: number): [Block, number] {
  const end = taken(lines, at + 2, (line) => line.includes("|"));
  return [{ is: "table", head: cells(lines[at] ?? ""), rows: lines.slice(at + 2, end).map(cells) }, end];
}

function cells(line: string): Inline[][] {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim()));
}

function paragraph(lines: string[], at: number): [Block, number] {
  const ends = (line: string) => line.trim() === "" || HEADING.test(line) || ITEM.test(line) || /^\s{0,3}(```|>)/.test(line);
  const end = Math.max(at + 1, taken(lines, at, (line) => !ends(line)));
  return [{ is: "paragraph", parts: inline(lines.slice(at, end).join("\n")) }, end];
}

// Code before anything else: what stands in it is not read any further.
// An underscore inside a word is part of a name.
const MARKS = new RegExp(
  [
    /(?<fence>`{1,3})(?<code>[^`]+?)\k<fence>/,
    /\[(?<words>[^\][]{1,500})\]\((?<address>[^()\s]{1,2000})\)/,
    /\*\*(?=\S)(?<strong>[^\n]+?)\*\*/,
    /(?<!\w)__(?=\S)(?<strong2>[^\n]+?)__(?!\w)/,
    /\*(?=\S)(?<emphasis>[^*\n]+?)\*/,
    /(?<!\w)_(?=\S)(?<emphasis2>[^_\n]+?)_(?!\w)/,
  ]
    .map((mark) => mark.source)
    .join("|"),
  "g",
);

export function inline(text: string, depth = 0): Inline[] {
  if (depth > 4) return [{ is: "text", text }];
  const parts: Inline[] = [];
  let last = 0;
  for (const found of text.matchAll(MARKS)) {
    if (found.index > last) parts.push({ is: "text", text: text.slice(last, found.index) });
    parts.push(marked(found, depth + 1));
    last = found.index + found[0].length;
  }
  if (last < text.length) parts.push({ is: "text", text: text.slice(last) });
  return parts;
}

function marked(found: RegExpExecArray, depth: number): Inline {
  const { code, words, address, strong, strong2, emphasis, emphasis2 } = found.groups ?? {};
  if (code !== undefined) return { is: "code", text: code };
  const bold = strong ?? strong2;
  if (bold !== undefined) return { is: "strong", parts: inline(bold, depth) };
  const slanted = emphasis ?? emphasis2;
  if (slanted !== undefined) return { is: "emphasis", parts: inline(slanted, depth) };
  const href = safeAddress(address ?? "");
  return href === null ? { is: "text", text: found[0] } : { is: "link", href, parts: inline(words ?? "", depth) };
}

/** Only http and https, and only what a browser reads as such too. */
export function safeAddress(address: string): string | null {
  if (!/^https?:\/\//i.test(address)) return null;
  try {
    const url = new URL(address);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}
