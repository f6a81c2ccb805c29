"""The workers of a loader that a training waits for."""

from __future__ import annotations

from torch_debugger.checks.hang_scene import short_spot
from torch_debugger.records import HangFact, Standing
from torch_debugger.records.hangs import CALL, EVENT, LOCK, LOOP, READ, SLEEP

_DOES = {
    LOCK: "waits for a lock",
    EVENT: "waits",
    READ: "reads",
    SLEEP: "sleeps",
    LOOP: "computes",
    CALL: "waits",
}


def awaited(fact: HangFact) -> Standing | None:
    """The worker whose batch comes next."""
    return next((each for each in fact.stacks if each.who == f"worker {fact.worker}"), None)


def worker_row(fact: HangFact) -> dict[str, float | str]:
    """A line of evidence for every worker."""
    rows: dict[str, float | str] = {}
    for each in fact.stacks:
        if not each.who.startswith("worker "):
            continue
        does = _DOES.get(each.kind, "has no batch to make") if each.is_alive else "has ended"
        place = f" at {short_spot(each.users_line)}" if each.kind and each.users_line else ""
        rows[each.who] = f"{does}{place}"
    return rows
