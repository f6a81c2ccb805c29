import { useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import type { Session } from "../../answers";
import { isReport } from "../../asking";
import type { Label } from "./rows";

export interface Labels {
  of: Record<string, Label>;
  /** Missing where the page may not edit: in the report, in TensorBoard. */
  again: (() => void) | undefined;
  /** Grows with every edit. */
  edits: number;
}

const NONE: Record<string, Label> = {};

/** What the reader has written on the runs, where the page may edit. */
export function useLabels(): Labels {
  const [edits, setEdits] = useState(0);
  const session = useAnswer<Session>("session");
  const may = !isReport() && Boolean(session.answer?.edit_token);
  const labels = useAnswer<{ runs: Record<string, Label> }>(may ? "labels" : null, {}, String(edits));
  return { of: labels.answer?.runs ?? NONE, again: may && labels.answer ? () => setEdits(edits + 1) : undefined, edits };
}
