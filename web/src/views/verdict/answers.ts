// What /ask/verdict, /ask/checked and /ask/explain answer.
import type { Finding, Num } from "../../answers";
import type { CodeLine } from "../../pieces/CodeBlock";
import type { DiffLine } from "../../pieces/Diff";

export interface ToldFinding extends Finding {
  code: CodeLine[];
  diff: { file: string; line: number; lines: DiffLine[]; added: string } | null;
}

export interface Chapter {
  cause: ToldFinding;
  symptoms: ToldFinding[];
  more_symptoms: number;
}

export interface CheckPage {
  summary: string;
  sections: Record<string, string>;
}

export interface CrashFrame {
  file: string;
  line: number;
  function: string;
  module: string | null;
  kind: string | null;
  failing: string;
  code: CodeLine[];
  values: { name: string; kind: string; says: string }[];
  /** How many frames of libraries it leads into. */
  inside: number;
}

export interface Crash {
  kind: string;
  message: string;
  step: number;
  frames: CrashFrame[];
  traceback: string;
}

export interface LossCurve {
  tag: string;
  steps: number[];
  values: Num[];
  all_points: number;
}

export interface VerdictAnswer {
  has_verdict: boolean;
  /** The step up to which a long log has been judged so far; null: all of it has been. */
  judged_to: number | null;
  /** What a step is in this run, many and one of them: optimizer steps, optimizer step. */
  counted: string;
  counted_one: string;
  /** Of a script that has finished and trained nothing: what was seen of it, and what can be done. */
  without_a_step: { seen: string; next: string } | null;
  chapters: Chapter[];
  more_chapters: number;
  crash: Crash | null;
  loss: LossCurve | null;
}

/** /ask/facts */
export interface RunFacts {
  rows: [string, string][];
  hparams: [string, string][];
}

export interface Checked {
  families: { name: string; checks: number; asked: number }[];
  unseen: string[];
  notices: string[];
  cost: string | null;
}
