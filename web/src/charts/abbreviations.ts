// Paths of modules in little room: the numbers in them tell layers apart, so the words give way first.

const SHORTEST = 3;

/** The path with its longest words cut in their middle, until it fits; then the whole is. */
export function abbreviate(name: string, most: number): string {
  if (name.length <= most) return name;
  const parts = name.split(".");
  if (parts.length > 2) parts[0] = ""; // the model is known anyway
  const room = parts.map((part) => part.length);
  while (sum(room) + parts.length - 1 > most) {
    const longest = longestWord(parts, room);
    if (longest === -1) return cut(parts.map((part, place) => cut(part, room[place]!)).join("."), most);
    room[longest]! -= 1;
  }
  return parts.map((part, place) => cut(part, room[place]!)).join(".");
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
