// /ask/ranks: the processes of a run side by side.
import type { About, Num } from "../../answers";
import { toNumber } from "../../answers";
import { count, duration } from "../../pieces/numbers";
import type { SmallCurve } from "../../pieces/Sparkline";

export interface Rank {
  rank: number;
  status: About["status"];
  phase: string | null;
  host: string | null;
  last_step: number;
  /** Since something was last written. */
  silent_s: number;
  step_s: Num;
  wait_s: Num;
  memory_bytes: number | null;
  weight_norm: Num;
  loss: Num;
  curve: SmallCurve | null;
}

export interface Agreement {
  last_step: number;
  /** Of which all ranks told the norm. */
  steps: number;
  first_apart: number | null;
  from_start: boolean;
  ranks: number[];
}

export interface Ranks {
  ranks: Rank[];
  all_ranks: number;
  weights: Agreement | null;
}

const SILENT_S = 60;
const SLOW = 1.2; // times the middle of all

/** Why a rank stands out; empty where it does not. */
export function oddness(rank: Rank, all: readonly Rank[]): string[] {
  const behind = Math.max(...all.map((each) => each.last_step)) - rank.last_step;
  return [
    behind > 1 ? `${count(behind, "step")} behind` : "",
    isSlow(rank.step_s, all.map((each) => each.step_s)) ? "slower than the others" : "",
    waitsMost(rank, all) ? `waits for data, ${duration(rank.wait_s)} a step` : "",
    isSilent(rank, all) ? `nothing written for ${duration(rank.silent_s)}` : "",
    Number.isFinite(toNumber(rank.loss)) || rank.loss === null ? "" : "loss not finite",
    rank.status === "killed" || rank.status === "crashed" ? "did not end well" : "",
  ].filter(Boolean);
}

/** Of a run that goes on: this rank says nothing while another does. */
function isSilent(rank: Rank, all: readonly Rank[]): boolean {
  return rank.status === "running" && rank.silent_s > SILENT_S && all.some((each) => each.silent_s < rank.silent_s / 4);
}

function isSlow(mine: Num, all: readonly Num[]): boolean {
  return toNumber(mine) > SLOW * middle(all);
}

/** A rank whose own loader holds it up, and with it all the others. */
function waitsMost(rank: Rank, all: readonly Rank[]): boolean {
  const [wait, step] = [toNumber(rank.wait_s), toNumber(rank.step_s)];
  return wait > 0.1 * step && isSlow(rank.wait_s, all.map((each) => each.wait_s));
}

function middle(values: readonly Num[]): number {
  const known = values.map(toNumber).filter(Number.isFinite).sort((one, other) => one - other);
  return known[Math.floor((known.length - 1) / 2)] ?? NaN;
}

export function agreementInWords(weights: Agreement | null, all: number): string {
  if (weights === null) return "Whether the ranks train the same weights cannot be told: no two of them recorded the norm of their weights at one step.";
  if (weights.first_apart === null) return `All ranks have the same weights, as far as their norm tells, at all ${count(weights.steps, "step")} that were compared.`;
  const odd = weights.ranks.length === all ? "The ranks" : `${weights.ranks.length === 1 ? "Rank" : "Ranks"} ${weights.ranks.slice(0, 8).join(", ")}${weights.ranks.length > 8 ? ", …" : ""}`;
  if (weights.from_start) return `${odd} ${weights.ranks.length === all ? "each had weights of a norm of their own" : "had weights of another norm than the others"} from the first step on. Where each rank holds a part of the model (FSDP, tensor parallel) that is as it should be; under DistributedDataParallel it is a fault.`;
  return `${odd} ${weights.ranks.length === all ? "parted" : "left the others"} at step ${weights.first_apart}: until then all had the same norm of weights. Under DistributedDataParallel all ranks must have the same weights; look at what that step does on some ranks only.`;
}
