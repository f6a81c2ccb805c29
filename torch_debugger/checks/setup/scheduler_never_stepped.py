"""TD130: a scheduler that nobody steps."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import Schedule, Schedules, at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record, SchedulerLook


class SchedulerNeverStepped(Check):
    """A scheduler of the learning rate is made but its step() is never called.

    Symptom:
        The learning rate stays what it was: no warm-up, no decay. The loss stops falling early, or swings at
        the end where it should settle.
    Evidence:
        The scheduler's own count of steps is 0 when the script ends, the rate never changed, and no line of the
        script calls `step()` of anything but an optimizer.
    Fix:
        Call `scheduler.step()` after `optimizer.step()`: once an epoch, or after every batch for a schedule
        whose length is given in batches.
    Known limits:
        Judged only when the script has finished and calls `optimizer.step()` itself. A call that stands in the
        source but is never reached is not reported.
    """

    id = "TD130"
    name = "scheduler-never-stepped"
    title = "a learning rate scheduler is never stepped"
    reads = (SchedulerLook,)
    explains = ("lr-too-low",)

    # A shorter run may have been made to look at something else.
    updates_needed = 10

    def __init__(self) -> None:
        self._schedules = Schedules()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, SchedulerLook)
        self._schedules.see(record, state)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        if state.end is None or state.end.outcome != "finished":
            return
        schedules = list(self._schedules.known.values())
        for optimizer in dict.fromkeys(one.last.optimizer for one in schedules):
            own = [one for one in schedules if one.last.optimizer == optimizer]
            if all(self._is_idle(one) for one in own):
                yield self._found(own[-1], state.end.steps)

    def _is_idle(self, schedule: Schedule) -> bool:
        looks, last = schedule.looks, schedule.last
        by_hand = ".step(" in (last.update.code or "")
        called = bool(last.calls) or last.others_called
        still = all(look.count == 0 and look.rate == looks[0].rate for look in looks)
        return by_hand and not called and still and last.updates >= self.updates_needed

    def _found(self, schedule: Schedule, steps: int) -> Finding:
        last, fact = schedule.last, schedule.fact
        return self.finding(
            severity="warning",
            confidence=0.95,
            message=(
                f"`{schedule.name}` ({fact.kind}{at_line(fact.place)}) was never stepped: the learning rate of "
                f"`{last.optimizer}` was {last.rate:g} in all {steps} steps."
            ),
            why="A scheduler changes the learning rate only when its step() is called; making it "
            "changes nothing.",
            fix=_fix(schedule),
            where=fact.place,
            first_step=fact.step,
            last_step=steps,
            evidence={"scheduler_steps": 0.0, "updates": float(steps), "lr": last.rate},
        )


def _fix(schedule: Schedule) -> str:
    last = schedule.last
    update = f"`{last.optimizer}.step()`{at_line(last.update)}"
    if "total_steps" in schedule.fact.settings:
        return f"Call `{schedule.name}.step()` right after {update}."
    return (
        f"Call `{schedule.name}.step()` once an epoch, below the loop over the batches that has {update}; "
        "right after it if the schedule counts batches."
    )
