"""TD140: the random numbers of every epoch are the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, PassFact, Record


@dataclass
class _Streak:
    length: int = 0
    first_step: int = 0
    age: int = -1  # of the optimizers, at the pass before


class ReseededEachEpoch(Check):
    """The random generator is set back in every epoch, so that shuffling and dropout repeat themselves.

    Symptom:
        Each epoch brings the same batches in the same order and drops the same units: the model overfits as
        without shuffling and dropout, and augmentation makes the same few pictures.
    Evidence:
        At the start of several passes over the training data in a row, torch's random state was exactly the one
        at the start of the pass before, although every pass draws from it.
    Fix:
        Seed once, before the training. Where a seed in each epoch is wanted, add the number of the epoch to it.
    Known limits:
        Judged for scripts with a DataLoader, and only where it shuffles or the model has dropout. A script that
        seeds before each of several trainings, with a new optimizer each time, is not reported.
    """

    id = "TD140"
    name = "reseeded-each-epoch"
    title = "every epoch draws the same random numbers"
    reads = (PassFact,)
    explains = ("same-order-each-epoch", "overfits-training-data")

    repeats_needed = 2

    def __init__(self) -> None:
        self._streaks: dict[int, _Streak] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, PassFact)
        streak = self._streaks.setdefault(record.loader, _Streak())
        older, streak.age = record.age > streak.age, record.age
        matters = record.shuffled or any(calls.dropouts and calls.train_grad for calls in record.calls)
        if not (record.repeats and record.updates and older and matters):
            streak.length = 0
            return
        streak.length += 1
        streak.first_step = streak.first_step or record.step - record.updates
        if streak.length == self.repeats_needed:
            yield self._found(streak, record)

    def _found(self, streak: _Streak, record: PassFact) -> Finding:
        seed = record.seed or record.place
        what = "the same batches in the same order" if record.shuffled else "the same units dropped"
        line = f": `{seed.code}`{at_line(seed)}" if record.seed else ""
        return self.finding(
            severity="error",
            confidence=0.95 if record.seed else 0.85,
            message=(
                f"Every epoch of the loop{at_line(record.place)} draws the random numbers of the epoch "
                f"before{line}; since step {streak.first_step} that has meant {what}."
            ),
            why=(
                "A generator that is set back to one state repeats all that follows: the order of the data, "
                "dropout, noise, augmentation. Randomness that repeats does not regularise."
            ),
            fix=_fix(record),
            where=seed,
            first_step=streak.first_step,
            last_step=record.step,
            evidence={"repeated_epochs": float(streak.length), "batches": float(record.batches)},
        )


def _fix(record: PassFact) -> str:
    if not record.seed:
        return f"Seed once, before the loop over the epochs around the loop{at_line(record.place)}."
    seed = record.seed
    return (
        f"Move `{seed.code}`{at_line(seed)} out of the epoch, before the loop over the epochs; or add the "
        "number of the epoch to its seed."
    )
