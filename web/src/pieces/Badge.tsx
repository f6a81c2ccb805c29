import type { About, Finding } from "../answers";
import "./pieces.css";

const SIGNS = { error: "■", warning: "▲", note: "●" } as const;

/** How bad a finding is: a sign and a word in its colour. */
export function SeverityBadge({ severity }: { severity: Finding["severity"] }) {
  return (
    <span class={`badge badge-${severity}`}>
      <span aria-hidden="true">{SIGNS[severity]}</span> {severity}
    </span>
  );
}

const STATUS_WORDS: Record<About["status"], string> = {
  starting: "Starting",
  running: "Running",
  finished: "Finished",
  crashed: "Crashed",
  stopped: "Stopped",
  killed: "Killed",
  unknown: "End not recorded",
};

export function statusWord(status: About["status"], watched = true): string {
  return watched || status !== "unknown" ? (STATUS_WORDS[status] ?? status) : "Log of another tool";
}

/** How a run stands, in a word; a running one has a dot that beats. */
export function StatusBadge({ status, still, watched }: { status: About["status"]; still?: boolean; watched?: boolean }) {
  return (
    <span class={`badge badge-${status}`}>
      <span class={status === "running" && !still ? "dot dot-live" : "dot"} aria-hidden="true" />
      {statusWord(status, watched)}
    </span>
  );
}
