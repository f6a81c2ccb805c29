"""TD131: a scheduler that is stepped so often that the learning rate is used up."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import Schedule, Schedules, at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record, SchedulerLook


class SchedulerSteppedPerBatch(Check):
    """A schedule meant for epochs is stepped after every batch, and the learning rate is soon next to nothing.

    Symptom:
        The loss falls for a few batches and then does not move any more, whatever the model.
    Evidence:
        The scheduler has been stepped about as often as the optimizer, and the learning rate has been below a
        ten-thousandth of its highest value for at least a third of all steps.
    Fix:
        Move `scheduler.step()` out of the loop over the batches, to the end of the epoch; or give the schedule
        its lengths in batches.
    Known limits:
        A schedule that only ends near zero is not reported: the rate must have been used up long before.
    """

    id = "TD131"
    name = "scheduler-stepped-per-batch"
    title = "a scheduler is stepped so often that the learning rate is used up"
    reads = (SchedulerLook,)
    explains = ("lr-too-low",)

    # Schedules that end at zero spend a tenth of the run below this at most (a polynomial of power 4).
    used_up = 1e-4
    share_of_run = 1 / 3
    updates_needed = 20
    # Stepped as often as the optimizer; one scheduler step an epoch is at most every second update.
    per_update = 0.9

    def __init__(self) -> None:
        self._schedules = Schedules()
        self._reported: set[int] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, SchedulerLook)
        schedule = self._schedules.see(record, state)
        if schedule is None or record.number in self._reported or schedule.per_update < self.per_update:
            return
        since = self._used_up_since(schedule)
        if since is not None and record.updates - since.updates >= max(
            self.updates_needed, self.share_of_run * record.updates
        ):
            self._reported.add(record.number)
            yield self._found(schedule, since)

    def _used_up_since(self, schedule: Schedule) -> SchedulerLook | None:
        """The first of the last looks that all found next to nothing."""
        peak = max(look.rate for look in schedule.looks)
        since = None
        for look in reversed(schedule.looks):
            if not look.rate <= self.used_up * peak:
                break
            since = look
        return since

    def _found(self, schedule: Schedule, since: SchedulerLook) -> Finding:
        last, fact, call = schedule.last, schedule.fact, schedule.call
        peak = max(look.rate for look in schedule.looks)
        code = call.code or f"{schedule.name}.step()"
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"`{schedule.name}` ({fact.kind}) is stepped after every update{at_line(call)}: the learning "
                f"rate of `{last.optimizer}` fell from {peak:g} to {since.rate:.2g} by step {since.step} and "
                f"is {last.rate:.2g} at step {last.step}."
            ),
            why=(
                "A schedule counts calls of its step(). Called for every batch instead of every epoch it is "
                "over within a few batches, and updates with such a rate change nothing."
            ),
            fix=f"Move `{code}`{at_line(call)} out of the loop over the batches, so that it runs once "
            f"an epoch.",
            where=call or fact.place,
            first_step=since.step,
            last_step=last.step,
            evidence={
                "scheduler_steps": float(last.count),
                "updates": float(last.updates),
                "highest_lr": peak,
                "lr": last.rate,
            },
        )
