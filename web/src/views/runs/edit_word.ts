// What was done to a run, said once; it outlives the page of a run that was deleted.

export interface EditWord {
  text: string;
  deleted: boolean;
}

let kept: EditWord | null = null;

export function keepWord(word: EditWord): void {
  kept = word;
}

export function keptWord(): EditWord | null {
  const word = kept;
  kept = null;
  return word;
}
