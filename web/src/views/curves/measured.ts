import { wholeNumber } from "../../charts/numbers";
import type { TagCurves } from "./curve_answers";

const OURS = /^(grad_norm|weight_norm)(\/|$)/; // what is measured as often as the cost budget lets
const FAR_FEWER = 0.5; // of the run's steps

/** Why a curve of ours has so few points, or nothing. */
export function measuredInWords(tag: string, curves: TagCurves | null, steps: number): string {
  const points = curves?.curves[0]?.all ?? 0;
  if (!OURS.test(tag) || !points || points >= steps * FAR_FEWER) return "";
  return `measured at ${wholeNumber(points)} of ${wholeNumber(steps)} steps, within the cost budget`;
}
