// The sentences of the first screen.
import { toNumber, type About } from "../../answers";
import { count, number } from "../../pieces/numbers";
import type { LossCurve, ToldFinding, VerdictAnswer } from "./answers";

/** What stands in the largest letters when there is no finding to stand there. */
export function headline(about: About, judgedTo: number | null = null): string {
  if (judgedTo !== null) return `Nothing wrong found up to step ${judgedTo.toLocaleString("en-US")}; the rest is being judged.`;
  if (about.status === "starting") return "The run is starting.";
  if (!about.watched) return "Nothing watched this run.";
  const by = about.ended_by ? ` by ${about.ended_by}` : "";
  if (about.status === "crashed") return about.ended_by ? `The script was ended${by}, and no check recognised the cause.` : "The script crashed, and no check recognised the cause.";
  if (about.status === "killed") return `The run was killed${by}; up to there nothing wrong was found.`;
  if (about.status === "running") return about.steps ? "Nothing wrong so far." : "The run has begun; no step is done yet.";
  if (about.steps === 0) return "No training step was seen.";
  return "Nothing wrong found.";
}

/** train.py finished after 120 optimizer steps; the loss went from 2.303 to 0.041. */
export function runSentence(about: About, answer: VerdictAnswer): string {
  const change = lossChange(answer.loss);
  if (about.status === "starting") return "Nothing is in its log yet. This page looks again by itself.";
  if (!about.watched && !about.steps && !change) return "There is no step in its log.";
  if (!about.watched) return `Its last step is ${about.steps.toLocaleString("en-US")}${change ? `; ${change}` : ""}.`;
  const script = about.script?.split(/[\\/]/).pop() || "The run";
  if (answer.without_a_step) return answer.without_a_step.seen;
  if (about.steps === 0 && about.watched) return `${script} ${NO_STEP[about.status]}.`;
  const steps = count(about.steps, answer.counted_one, answer.counted);
  const verbs = { starting: "has done", running: "has done", finished: "finished after", crashed: "crashed after", stopped: "was stopped after", killed: "was killed after", unknown: "has" };
  return `${script} ${verbs[about.status]} ${steps}${change ? `; ${change}` : ""}.`;
}

const NO_STEP: Record<About["status"], string> = {
  starting: "has not begun yet",
  running: "has not finished its first step yet",
  finished: "finished; no training step was seen",
  crashed: "crashed before its first step was done",
  stopped: "was stopped before its first step was done",
  killed: "was killed before its first step was done",
  unknown: "tells of no step",
};

/** What a signal that leaves no message most often means. */
export function signalSentence(about: About): string {
  if (!about.ended_by?.includes("SIGKILL")) return "";
  return "SIGKILL leaves no message: most often the machine ran out of memory or a job scheduler reached its limit. The system log (dmesg) names the cause.";
}

/** Why there is no picture of the loss. */
export function noLoss(about: About): string {
  if (about.status === "starting") return "No loss was recorded yet.";
  if (!about.watched) return "No tag of this log is named like a loss.";
  return `No loss was recorded${about.status === "running" ? " yet" : ""}: it is read at each backward(), once a step is done.`;
}

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

const WIDE = 50; // from this ratio on a logarithmic axis tells more

export function isWide(loss: LossCurve): boolean {
  const finite = loss.values.map(toNumber).filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  return low > 0 && high / low >= WIDE;
}

/** 40 values are NaN or Inf, the first at step 41. */
export function oddSentence(loss: LossCurve): string {
  const odd = loss.steps.filter((_, place) => !Number.isFinite(toNumber(loss.values[place])));
  if (odd.length === 0) return "";
  const many = odd.length === 1 ? "1 value is" : `${odd.length.toLocaleString("en-US")} values are`;
  return `${many} NaN or Inf, the first at step ${odd[0]?.toLocaleString("en-US")}.`;
}
