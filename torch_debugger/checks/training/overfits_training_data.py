"""TD552: a validation loss that rises while the training loss falls."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.checks.trends import rising_share
from torch_debugger.records import CheckpointLoad, Finding, OptimizerFact, Place, Record, Scalars

_LOGGED = re.compile(r"user/.*\b(val|valid|validation|dev|test)\b.*loss|user/.*loss.*\b(val|validation|dev)\b")


class OverfitsTrainingData(Check):
    """The validation loss rises for a long time while the training loss goes on falling.

    Symptom:
        The model gets ever better on the data it is trained on and worse on all other.
    Evidence:
        Losses computed without gradients, or logged by the script under a name for validation: the lowest lies
        five evaluations or more back, the last ones are half as large again and still rise, while the training
        loss fell to less than half of what it was then.
    Fix:
        Keep the weights of the best evaluation and stop there; more data, augmentation, weight decay or
        dropout move that point back.
    Known limits:
        Validation with functions (`F.cross_entropy`) is seen where its result is logged, or kept as a number
        in a variable named like `val_loss`. A script that loads weights again after its best evaluation is
        taken to keep the best ones and is left alone.
    """

    id = "TD552"
    name = "overfits-training-data"
    title = "the validation loss rises while the training loss falls"
    reads = (Scalars, CheckpointLoad)

    evaluations_needed = 6
    since_best = 5
    risen = 1.5
    still_rising = 0.6  # share of neighbours
    fallen = 0.5
    # The two losses are of one kind: at the first evaluation they are this close.
    alike = 4.0

    def __init__(self) -> None:
        self._curves: dict[str, list[tuple[int, float]]] = {}
        self._last_load = 0

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, CheckpointLoad):
            self._last_load = max(self._last_load, record.step)
        elif isinstance(record, Scalars):
            for tag, value in record.values.items():
                if tag.startswith("eval/") or (tag.startswith("user/") and _LOGGED.match(tag.lower())):
                    self._curves.setdefault(tag, []).append((record.step, value))
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        if len(state.sites) > 1:
            return
        for tag, points in self._curves.items():
            if self._is_rising(points):
                best = min(points, key=lambda point: point[1])
                finding = self._judge(tag, best, points, state) if self._last_load < best[0] else None
                if finding is not None:
                    yield finding
                    return

    def _is_rising(self, points: list[tuple[int, float]]) -> bool:
        values = [value for _, value in points]
        if len(values) < self.evaluations_needed or min(values) <= 0:
            return False
        since = points[values.index(min(values)) :]
        if len(since) <= self.since_best or rising_share(since) < self.still_rising:
            return False
        return statistics.median(values[-3:]) >= self.risen * min(values)

    def _judge(
        self, tag: str, best: tuple[int, float], points: list[tuple[int, float]], state: RunState
    ) -> Finding | None:
        start, then = _level(state, points[0][0]), _level(state, best[0])
        now, last = _level(state, state.step), statistics.median(value for _, value in points[-3:])
        if min(start, then) <= 0 or now > self.fallen * then:
            return None
        if not 1 / self.alike <= points[0][1] / start <= self.alike:
            return None
        optimizer = next(iter(state.optimizers.values()), None)
        name = tag.split("/", 1)[1]
        return self.finding(
            severity="warning",
            confidence=0.85,
            message=(
                f"The validation loss (`{name}`) was lowest at step {best[0]} with {best[1]:.3g} and is "
                f"{last:.3g} now, while the training loss fell from {then:.3g} to {now:.3g}."
            ),
            why=(
                "From there on the model learns the single samples of the training data by heart, and what it "
                "learns does not hold for others."
            ),
            fix=_fix(best[0], optimizer),
            where=optimizer.place if optimizer else Place(),
            first_step=best[0],
            last_step=state.step,
            evidence={
                "best_validation_loss": best[1],
                "last_validation_loss": last,
                "best_step": float(best[0]),
                "evaluations": float(len(points)),
                "training_loss_then": then,
                "training_loss_now": now,
            },
        )


def _level(state: RunState, step: int) -> float:
    """The training loss around a step: the twenty losses up to it."""
    before = [value for at, value in state.losses.finite() if at <= step][-20:]
    return statistics.median(before) if before else 0.0


def _fix(step: int, optimizer: OptimizerFact | None) -> str:
    advice = f"Stop at step {step}, or keep a copy of the weights whenever the validation loss is a new best."
    if optimizer is None:
        return advice
    decay = max((group.get("weight_decay", 0.0) for group in optimizer.groups), default=0.0)
    stronger = f"a `weight_decay` above {decay:g}" if decay else "a `weight_decay` (1e-2 with AdamW)"
    return (
        f"{advice} Against it help more data or augmentation, dropout, and {stronger} for `{optimizer.name}`."
    )
