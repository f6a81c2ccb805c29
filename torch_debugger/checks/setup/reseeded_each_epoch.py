"""Random numbers that are the same in every epoch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.records import Finding, PassFact, Place, Record, Reseeding

_WHY = (
    "A generator that is set back to one state repeats all that follows: the order of the data, dropout, "
    "noise, augmentation. Randomness that repeats does not regularise."
)


@dataclass
class _SeedStreak:
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
        at the start of the pass before, although every pass draws from it. Without a DataLoader: a line set the
        seed of before again, several times in a row, and the training after it left the very same random state.
    Fix:
        Seed once, before the training. Where a seed in each epoch is wanted, add the number of the epoch to it.
    Known limits:
        With a DataLoader only where it shuffles or the model has dropout. A script that seeds before each of
        several trainings, with a new optimizer each time, or before every step, is not reported. Seeds of numpy
        and of `random` are not seen.
    """

    id = "TD140"
    name = "reseeded-each-epoch"
    title = "every epoch draws the same random numbers"
    reads = (PassFact, Reseeding)
    explains = ("same-order-each-epoch", "overfits-training-data")

    repeats_needed = 2
    # Between two seeds; the same seed before every step makes a loss that can be repeated.
    updates_needed = 3

    def __init__(self) -> None:
        self._streaks: dict[int, _SeedStreak] = {}
        self._seedings: dict[Place, list[Reseeding]] = {}  # in a row
        self._by_passes = False  # training goes over loaders

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, Reseeding):
            self._see_seed(record)
            return
        assert isinstance(record, PassFact)
        self._by_passes = self._by_passes or record.updates > 0
        streak = self._streaks.setdefault(record.loader, _SeedStreak())
        older, streak.age = record.age > streak.age, record.age
        matters = record.shuffled or any(calls.dropouts and calls.train_grad for calls in record.calls)
        if not (record.repeats and record.updates and older and matters):
            streak.length = 0
            return
        streak.length += 1
        streak.first_step = streak.first_step or record.step - record.updates
        if streak.length == self.repeats_needed:
            seed = record.seed or record.place
            what = "the same batches in the same order" if record.shuffled else "the same units dropped"
            line = f": `{seed.code}`{at_line(seed)}" if record.seed else ""
            yield self.finding(
                severity="error",
                confidence=0.95 if record.seed else 0.85,
                message=f"Every epoch of the loop{at_line(record.place)} draws the random numbers of the epoch "
                f"before{line}; since step {streak.first_step} that has meant {what}.",
                why=_WHY,
                fix=_fix(record),
                where=seed,
                steps=(streak.first_step, record.step),
                evidence={"repeated_epochs": float(streak.length), "batches": float(record.batches)},
            )

    def _see_seed(self, record: Reseeding) -> None:
        row = self._seedings.setdefault(record.place, [])
        older = not row or record.age > row[-1].age
        if record.draws and record.repeats and older and record.updates >= self.updates_needed:
            row.append(record)
        else:
            row.clear()

    def finish(self, state: RunState) -> Iterable[Finding]:
        for row in self._seedings.values() if not self._by_passes else ():
            if len(row) >= self.repeats_needed:
                first, last = row[0], row[-1]
                yield self.finding(
                    severity="error",
                    confidence=0.9,
                    message=f"`{last.place.code}`{at_line(last.place)} sets the random generator back to seed "
                    f"{last.seed} every {last.updates} updates: since step {first.step} training has drawn the same "
                    "random numbers each time.",
                    why=_WHY,
                    fix=_move(last.place),
                    where=last.place,
                    steps=(first.step, last.step),
                    evidence={"repeated_epochs": float(len(row)), "updates": float(last.updates)},
                )


def _fix(record: PassFact) -> str:
    if not record.seed:
        return f"Seed once, before the loop over the epochs around the loop{at_line(record.place)}."
    return _move(record.seed)


def _move(seed: Place) -> str:
    return (
        f"Move `{seed.code}`{at_line(seed)} out of the epoch, before the loop over the epochs; or add the "
        "number of the epoch to its seed."
    )
