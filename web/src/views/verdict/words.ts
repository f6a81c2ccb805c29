// The sentences of the first screen.
import { toNumber, type About, type Num } from "../../answers";
import { count, number } from "../../pieces/numbers";
import type { LossCurve, ToldFinding, VerdictAnswer } from "./answers";

/** What stands in the largest letters when there is no finding to stand there. */
export function headline(about: About): string {
  if (!about.watched) return "Nothing watched this run.";
  if (about.status === "crashed") return "The script crashed, and no check recognised the cause.";
  if (about.status === "killed") return "The run was killed; up to there nothing wrong was found.";
  if (about.status === "running") return about.steps ? "Nothing wrong so far." : "The run has begun; no step is done yet.";
  if (about.steps === 0) return "No training step was seen.";
  return "Nothing wrong found.";
}

/** train.py finished after 120 optimizer steps; the loss went from 2.303 to 0.041. */
export function runSentence(about: About, answer: VerdictAnswer): string {
  const script = about.script?.split(/[\\/]/).pop() || "The run";
  if (about.steps === 0 && about.watched) return `${script} ${NO_STEP[about.status]}.`;
  const steps = count(about.steps, answer.counted.replace(/s$/, ""), answer.counted);
  const verbs = { running: "has done", finished: "finished after", crashed: "crashed after", stopped: "was stopped after", killed: "was killed after", unknown: "has" };
  const change = lossChange(answer.loss);
  return `${script} ${verbs[about.status]} ${steps}${change ? `; ${change}` : ""}.`;
}

const NO_STEP: Record<About["status"], string> = {
  running: "has not finished its first step yet",
  finished: "finished; no training step was seen",
  crashed: "crashed before its first step was done",
  stopped: "was stopped before its first step was done",
  killed: "was killed before its first step was done",
  unknown: "tells of no step",
};

export function lossChange(loss: LossCurve | null): string {
  if (!loss || loss.values.length < 2) return "";
  return `the loss went from ${number(loss.values[0])} to ${number(loss.values.at(-1))}`;
}

/** at step 41, since step 2; empty where no step is known. */
export function moment(finding: ToldFinding, about: About): string {
  const { first_step: first, last_step: last } = finding;
  if (first === null || first <= 0) return "";
  const atTheEnd = about.status === "crashed" && first === last && first >= Math.max(about.steps, 1);
  return `${atTheEnd ? "at" : "since"} step ${first.toLocaleString("en-US")}`;
}

/** What a finding is called in the address. */
export function keyOfFinding({ name, where }: ToldFinding): string {
  return `${name}@${where.module ?? `${where.file ?? ""}:${where.line ?? ""}`}`;
}

/** What the picture of the loss says to whoever cannot see it. */
export function lossInWords(loss: LossCurve, marked: number | null): string {
  const odd = loss.values.findIndex((value) => !Number.isFinite(toNumber(value)));
  const parts = [`${loss.tag} over ${count(loss.all_points, "point")}: from ${number(loss.values[0])} at step ${loss.steps[0]} to ${number(loss.values.at(-1))} at step ${loss.steps.at(-1)}.`];
  if (odd >= 0) parts.push(`First not finite at step ${loss.steps[odd]}: ${number(loss.values[odd] as Num)}.`);
  if (marked !== null) parts.push(`The finding begins at step ${marked}.`);
  return parts.join(" ");
}
