"""Learning rate schedulers: never stepped, too early, too often, or in other units."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.optimization import Schedule, Schedules
from torch_debugger.records import Finding, LoaderFact, Place, Record, SchedulerLook


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

    def see(self, record: SchedulerLook, state: RunState) -> None:
        self._schedules.see(record, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        if state.end is None or state.end.outcome != "finished":
            return
        schedules = list(self._schedules.known.values())
        for optimizer in dict.fromkeys(one.last.optimizer for one in schedules):
            own = [one for one in schedules if one.last.optimizer == optimizer]
            if all(self._is_idle(one) for one in own):
                schedule = own[-1]
                steps = state.end.steps
                last, fact = schedule.last, schedule.fact
                yield self.finding(
                    severity="warning",
                    confidence=0.95,
                    message=f"`{schedule.name}` ({fact.kind}{at_line(fact.place)}) was never stepped: the learning "
                    f"rate of `{last.optimizer}` was {last.rate:g} in all {steps} steps.",
                    why="A scheduler changes the learning rate only when its step() is called; making it changes "
                    "nothing.",
                    fix=_fix(schedule),
                    where=fact.place,
                    steps=(fact.step, steps),
                    evidence={"scheduler_steps": 0.0, "updates": float(steps), "lr": last.rate},
                )

    def _is_idle(self, schedule: Schedule) -> bool:
        looks, last = schedule.looks, schedule.last
        by_hand = ".step(" in (last.update.code or "")
        called = bool(last.calls) or last.others_called
        still = all(look.count == 0 and look.rate == looks[0].rate for look in looks)
        return by_hand and not called and still and last.updates >= self.updates_needed


def _fix(schedule: Schedule) -> str:
    last = schedule.last
    update = f"`{last.optimizer}.step()`{at_line(last.update)}"
    if "total_steps" in schedule.fact.settings:
        return f"Call `{schedule.name}.step()` right after {update}."
    return (
        f"Call `{schedule.name}.step()` once an epoch, below the loop over the batches that has {update}; "
        "right after it if the schedule counts batches."
    )


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

    def see(self, record: SchedulerLook, state: RunState) -> Iterable[Finding]:
        schedule = self._schedules.see(record, state)
        if schedule is not None and len(schedule.looks) == 2 and self._is_early(schedule):
            first, call = schedule.looks[0], schedule.call
            yield self.finding(
                severity="warning",
                confidence=0.93,
                message=f"`{call.code}`{at_line(call)} comes before `{first.optimizer}.step()`{at_line(first.update)}: "
                f"the first update already used {first.rate:g}, the second learning rate of {schedule.fact.kind}.",
                why="The first step() of a scheduler ends its first period; before any update that period is lost.",
                fix=f"Move `{call.code}`{at_line(call)} below `{first.optimizer}.step()`{at_line(first.update)}"
                f"{self._below(schedule)}.",
                where=call,
                steps=(first.step, schedule.last.step),
                evidence={"scheduler_steps": 1.0, "updates": 0.0, "lr": first.rate},
            )

    def _is_early(self, schedule: Schedule) -> bool:
        first, second = schedule.looks
        call, update = schedule.call, first.update
        above = call.file == update.file and (call.line or 0) < (update.line or 0)
        skipped = (first.updates, first.count) == (0, 1) and second.updates >= 1 and second.count >= 1
        return bool(call) and above and ".step(" in (update.code or "") and skipped

    def _below(self, schedule: Schedule) -> str:
        once_an_epoch = schedule.last.count < schedule.last.updates + 1
        return ", after the loop over the batches" if once_an_epoch else ""


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

    def see(self, record: SchedulerLook, state: RunState) -> Iterable[Finding]:
        schedule = self._schedules.see(record, state)
        if schedule is None or record.number in self._reported or schedule.per_update < self.per_update:
            return
        since = self._used_up_since(schedule)
        if since is not None and record.updates - since.updates >= max(
            self.updates_needed, self.share_of_run * record.updates
        ):
            self._reported.add(record.number)
            last, fact, call = schedule.last, schedule.fact, schedule.call
            peak = max(look.rate for look in schedule.looks)
            code = call.code or f"{schedule.name}.step()"
            yield self.finding(
                severity="error",
                confidence=0.93,
                message=f"`{schedule.name}` ({fact.kind}) is stepped after every update{at_line(call)}: the learning "
                f"rate of `{last.optimizer}` fell from {peak:g} to {since.rate:.2g} by step {since.step} and "
                f"is {last.rate:.2g} at step {last.step}.",
                why="A schedule counts calls of its step(). Called for every batch instead of every epoch it is "
                "over within a few batches, and updates with such a rate change nothing.",
                fix=f"Move `{code}`{at_line(call)} out of the loop over the batches, so that it runs once an epoch.",
                where=call or fact.place,
                steps=(since.step, last.step),
                evidence={
                    "scheduler_steps": float(last.count),
                    "updates": float(last.updates),
                    "highest_lr": peak,
                    "lr": last.rate,
                },
            )

    def _used_up_since(self, schedule: Schedule) -> SchedulerLook | None:
        """The first of the last looks that all found next to nothing."""
        peak = max(look.rate for look in schedule.looks)
        since = None
        for look in reversed(schedule.looks):
            if not look.rate <= self.used_up * peak:
                break
            since = look
        return since


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

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, LoaderFact):
            self._lengths.add(record.length or 0)
        elif isinstance(record, SchedulerLook):
            self._schedules.see(record, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        if state.end is None or state.end.outcome != "finished":
            return
        for schedule in self._schedules.known.values():
            total, steps = schedule.total, state.end.steps
            if total is None or steps < self.batches_needed:
                continue
            fits = abs(total - steps) <= max(1.0, self.fits * total)
            if fits and schedule.last.count * self.batches_needed <= total and schedule.last.count > 0:
                call = schedule.call
                yield self._found(
                    schedule,
                    steps,
                    message=f"{self._maker(schedule)} is made for {total:g} steps, the number of updates of this run, "
                    f"but was stepped only {schedule.last.count} times{at_line(call)}, about once an epoch: the "
                    f"learning rate got no further than {schedule.last.rate:.3g}.",
                    fix=f"Call `{call.code or schedule.name + '.step()'}`{at_line(call)} inside the loop over the "
                    f"batches, after `{schedule.last.optimizer}.step()`{at_line(schedule.last.update)}.",
                )
            elif self._is_of_micro_batches(schedule, total, steps):
                batches = round(schedule.last.backwards / schedule.last.updates)
                yield self._found(
                    schedule,
                    steps,
                    message=f"{self._maker(schedule)} is made for {total:g} steps, the number of batches of this run, "
                    f"but is stepped once for {batches} of them{at_line(schedule.call)}, with the optimizer: the "
                    f"learning rate got no further than {schedule.last.rate:.3g}.",
                    fix=f"Divide the number of steps{at_line(schedule.fact.place)} by {batches}, the batches of one "
                    f"update: {steps} in all.",
                    where=schedule.fact.place,
                )
            elif schedule.fact.kind == "CosineAnnealingLR" and self._is_of_epochs(schedule, total, steps):
                yield self._too_short(schedule, total, steps)

    def _is_of_micro_batches(self, schedule: Schedule, total: float, steps: int) -> bool:
        batches = schedule.last.backwards / max(1, schedule.last.updates)
        fits = abs(total - batches * steps) <= max(batches, self.fits * total)
        return fits and batches >= self.accumulated and 0.9 <= schedule.per_update <= 1.1

    def _is_of_epochs(self, schedule: Schedule, total: float, steps: int) -> bool:
        lengths = [length for length in self._lengths if length >= self.batches_needed]
        fits = any(abs(total * length - steps) <= max(1.0, self.fits * steps) for length in lengths)
        return fits and schedule.per_update >= 0.9 and schedule.last.count >= self.turns * total

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

    def _found(self, schedule: Schedule, steps: int, message: str, fix: str, where: Place | None = None) -> Finding:
        return self.finding(
            severity="warning",
            confidence=0.92,
            message=message,
            why="A schedule counts calls of its step(): its length must be given in the unit it is stepped in.",
            fix=fix,
            where=where or schedule.call or schedule.fact.place,
            steps=(schedule.fact.step, steps),
            evidence={
                "total": schedule.total or 0.0,
                "scheduler_steps": float(schedule.last.count),
                "updates": float(steps),
                "lr": schedule.last.rate,
            },
        )
