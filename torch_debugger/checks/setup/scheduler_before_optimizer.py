"""TD132: a scheduler that is stepped before its optimizer."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import Schedule, Schedules, at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record, SchedulerLook


class SchedulerBeforeOptimizer(Check):
    """The scheduler is stepped before the optimizer, so that the first value of the schedule is never used.

    Symptom:
        Training starts at the second learning rate of the schedule: the first epoch of a warm-up or of the
        highest rate is missing, and every later change comes one step early.
    Evidence:
        When the optimizer was about to step for the first time, the scheduler had been stepped once already,
        by the one line that steps it, which stands above `optimizer.step()`.
    Fix:
        Call `scheduler.step()` after `optimizer.step()`; for a schedule in epochs, after the loop over the
        batches.
    Known limits:
        Where the two calls are in different files or the scheduler is stepped in several places (a resumed
        run), nothing is said.
    """

    id = "TD132"
    name = "scheduler-before-optimizer"
    title = "the scheduler is stepped before the optimizer"
    reads = (SchedulerLook,)

    def __init__(self) -> None:
        self._schedules = Schedules()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, SchedulerLook)
        schedule = self._schedules.see(record, state)
        if schedule is not None and len(schedule.looks) == 2 and self._is_early(schedule):
            yield self._found(schedule)

    def _is_early(self, schedule: Schedule) -> bool:
        first, second = schedule.looks
        call, update = schedule.call, first.update
        above = call.file == update.file and (call.line or 0) < (update.line or 0)
        skipped = (first.updates, first.count) == (0, 1) and second.updates >= 1 and second.count >= 1
        return bool(call) and above and ".step(" in (update.code or "") and skipped

    def _found(self, schedule: Schedule) -> Finding:
        first, call = schedule.looks[0], schedule.call
        return self.finding(
            severity="warning",
            confidence=0.93,
            message=(
                f"`{call.code}`{at_line(call)} comes before "
                f"`{first.optimizer}.step()`{at_line(first.update)}: the "
                f"first update already used {first.rate:g}, the second learning rate of {schedule.fact.kind}."
            ),
            why="The first step() of a scheduler ends its first period; before any update that period is lost.",
            fix=f"Move `{call.code}`{at_line(call)} below `{first.optimizer}.step()`{at_line(first.update)}"
            f"{self._below(schedule)}.",
            where=call,
            first_step=first.step,
            last_step=schedule.last.step,
            evidence={"scheduler_steps": 1.0, "updates": 0.0, "lr": first.rate},
        )

    def _below(self, schedule: Schedule) -> str:
        once_an_epoch = schedule.last.count < schedule.last.updates + 1
        return ", after the loop over the batches" if once_an_epoch else ""
