// Paths of modules in little room: the numbers in them tell layers apart, so the words give way first.

const SHORTEST = 3;
const FEW = 20; // letters: with fewer, words cut in their middle are no words any more

/** The path with its longest words cut in their middle, until it fits; then the whole is. */
export function abbreviate(name: string, most: number): string {
  if (name.length <= most) return name;
  const parts = name.split(".");
  const ends = most < FEW ? byItsEnds(parts).find((each) => each.length <= most) : undefined;
  if (ends !== undefined) return ends;
  if (parts.length > 2) parts[0] = ""; // the model is known anyway
  const room = parts.map((part) => part.length);
  while (sum(room) + parts.length - 1 > most) {
    const longest = longestWord(parts, room);
    if (longest === -1) return cut(parts.map((part, place) => cut(part, room[place]!)).join("."), most);
    room[longest]! -= 1;
  }
  return parts.map((part, place) => cut(part, room[place]!)).join(".");
}

/** Whole words from both ends of a path, the longer ones first: enc…0.self_attn, …0.self_attn, …self_attn. */
function byItsEnds(parts: readonly string[]): string[] {
  if (parts.length < 3) return [];
  const number = [...parts].slice(0, -1).reverse().find((part) => /^\d+$/.test(part));
  const last = parts[parts.length - 1]!;
  const end = number === undefined ? last : `${number}.${last}`;
  return [`…${parts.slice(-3).join(".")}`, `${parts[1]}…${end}`, `…${end}`, `…${last}`];
}

/** Of two as long, the earlier one: the end of a path says what a layer is. -1 where all are short. */
function longestWord(parts: readonly string[], room: readonly number[]): number {
  let best = -1;
  room.forEach((letters, place) => {
    if (letters > SHORTEST && !/^\d+$/.test(parts[place]!) && (best === -1 || letters > room[best]!)) best = place;
  });
  return best;
}

function cut(text: string, most: number): string {
  if (text.length <= most || most < SHORTEST) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
