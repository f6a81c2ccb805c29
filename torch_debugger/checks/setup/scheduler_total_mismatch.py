"""TD133: a schedule whose length is counted in other units than it is stepped in."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import Schedule, Schedules, at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, LoaderFact, Place, Record, SchedulerLook


class SchedulerTotalMismatch(Check):
    """A schedule's length is given in batches but it is stepped once an epoch, or the other way round.

    Symptom:
        The rate hardly moves from where it starts and the run ends at the beginning of its schedule (a
        warm-up that never ends); or it swings up and down many times where it should fall once.
    Evidence:
        The length given (`total_steps`, `T_max`, `total_iters`) is the number of updates of the whole run,
        while the scheduler was stepped a small part of that; or the number of all batches, where gradients are
        accumulated and the scheduler is stepped with the optimizer; or it is the number of epochs, and the
        scheduler was stepped after every batch.
    Fix:
        Step the scheduler in the unit its length is given in, or give the length in the unit it is stepped in.
    Known limits:
        Judged when the script has finished. A length that fits neither count is not reported: early
        stopping ends a good schedule before its time.
    """

    id = "TD133"
    name = "scheduler-total-mismatch"
    title = "a schedule's length and its steps are counted in different units"
    reads = (SchedulerLook, LoaderFact)
    explains = ("lr-too-low",)

    # The length is computed from the same numbers as the loop, so it fits as good as exactly.
    fits = 0.02
    # An epoch of fewer batches leaves nothing to tell the two units apart by.
    batches_needed = 4
    # Batches for one update, where gradients are accumulated.
    accumulated = 2.0
    # A cosine turns back at T_max; from here on it has come back up and down again.
    turns = 3.0

    def __init__(self) -> None:
        self._schedules = Schedules()
        self._lengths: set[int] = set()  # batches in an epoch, of all loaders

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LoaderFact):
            self._lengths.add(record.length or 0)
        elif isinstance(record, SchedulerLook):
            self._schedules.see(record, state)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        if state.end is None or state.end.outcome != "finished":
            return
        for schedule in self._schedules.known.values():
            total, steps = schedule.total, state.end.steps
            if total is None or steps < self.batches_needed:
                continue
            if self._is_of_batches(schedule, total, steps):
                yield self._too_long(schedule, total, steps)
            elif self._is_of_micro_batches(schedule, total, steps):
                yield self._not_accumulated(schedule, total, steps)
            elif schedule.fact.kind == "CosineAnnealingLR" and self._is_of_epochs(schedule, total, steps):
                yield self._too_short(schedule, total, steps)

    def _is_of_batches(self, schedule: Schedule, total: float, steps: int) -> bool:
        fits = abs(total - steps) <= max(1.0, self.fits * total)
        return fits and schedule.last.count * self.batches_needed <= total and schedule.last.count > 0

    def _is_of_micro_batches(self, schedule: Schedule, total: float, steps: int) -> bool:
        batches = schedule.last.backwards / max(1, schedule.last.updates)
        fits = abs(total - batches * steps) <= max(batches, self.fits * total)
        return fits and batches >= self.accumulated and 0.9 <= schedule.per_update <= 1.1

    def _is_of_epochs(self, schedule: Schedule, total: float, steps: int) -> bool:
        lengths = [length for length in self._lengths if length >= self.batches_needed]
        fits = any(abs(total * length - steps) <= max(1.0, self.fits * steps) for length in lengths)
        return fits and schedule.per_update >= 0.9 and schedule.last.count >= self.turns * total

    def _too_long(self, schedule: Schedule, total: float, steps: int) -> Finding:
        call = schedule.call
        return self._found(
            schedule,
            steps,
            message=f"{self._maker(schedule)} is made for {total:g} steps, the number of updates of this run, "
            f"but was stepped only {schedule.last.count} times{at_line(call)}, about once an epoch: the "
            f"learning rate got no further than {schedule.last.rate:.3g}.",
            fix=f"Call `{call.code or schedule.name + '.step()'}`{at_line(call)} inside the loop over the "
            f"batches, after `{schedule.last.optimizer}.step()`{at_line(schedule.last.update)}.",
        )

    def _not_accumulated(self, schedule: Schedule, total: float, steps: int) -> Finding:
        batches = round(schedule.last.backwards / schedule.last.updates)
        return self._found(
            schedule,
            steps,
            message=f"{self._maker(schedule)} is made for {total:g} steps, the number of batches of this run, "
            f"but is stepped once for {batches} of them{at_line(schedule.call)}, with the optimizer: the "
            f"learning rate got no further than {schedule.last.rate:.3g}.",
            fix=f"Divide the number of steps{at_line(schedule.fact.place)} by {batches}, the batches of one "
            f"update: {steps} in all.",
            where=schedule.fact.place,
        )

    def _too_short(self, schedule: Schedule, total: float, steps: int) -> Finding:
        call = schedule.call
        return self._found(
            schedule,
            steps,
            message=f"{self._maker(schedule)} is made for {total:g} steps, the number of epochs, but is "
            f"stepped after every batch{at_line(call)}: the learning rate went down and up again "
            f"{schedule.last.count / (2 * total):.0f} times.",
            fix=f"Move `{call.code or schedule.name + '.step()'}`{at_line(call)} out of the loop over the "
            f"batches; or make it with `T_max={steps}`, the number of batches of the run.",
        )

    def _maker(self, schedule: Schedule) -> str:
        return f"`{schedule.name}` ({schedule.fact.kind}{at_line(schedule.fact.place)})"

    def _found(
        self, schedule: Schedule, steps: int, message: str, fix: str, where: Place | None = None
    ) -> Finding:
        return self.finding(
            severity="warning",
            confidence=0.92,
            message=message,
            why="A schedule counts calls of its step(): its length must be given in the unit it is stepped in.",
            fix=fix,
            where=where or schedule.call or schedule.fact.place,
            first_step=schedule.fact.step,
            last_step=steps,
            evidence={
                "total": schedule.total or 0.0,
                "scheduler_steps": float(schedule.last.count),
                "updates": float(steps),
                "lr": schedule.last.rate,
            },
        )
