"""TD101: gradients pile up from step to step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import CarriedGradient, Edit, Finding, Place, Record


@dataclass
class _Streak:
    """Steps in a row that used gradients of the step before."""

    length: int = 0
    first_step: int = 0
    ever_cleared: bool = False
    last: CarriedGradient | None = None


class MissingZeroGrad(Check):
    """An optimizer's gradients are not cleared between its steps.

    Symptom:
        The loss falls at first, then swings or grows; a smaller learning rate seems to help. Each
        step follows the sum of all gradients since the start instead of the gradient of its batch.
    Evidence:
        On several sampled steps in a row the gradients were not zero before the step's first
        backward(), although the optimizer had stepped since they were made. The numbers are the
        norm that was carried over and the norm the optimizer then used.
    Fix:
        Call `optimizer.zero_grad()` once per step, before `loss.backward()`.
    Known limits:
        Gradient accumulation is not reported: there the gradients are cleared before the first
        backward() after a step. A script that shrinks old gradients on purpose is not reported
        where two neighbouring steps were sampled.
    """

    id = "TD101"
    name = "missing-zero-grad"
    title = "gradients are not cleared between optimizer steps"
    reads = (CarriedGradient,)
    explains = ("lr-too-high", "loss-not-finite", "overflow-ahead", "dead-relu")

    # Holds for any optimizer: autograd adds to .grad, so a carried gradient is always a sum.
    sampled_steps = 3
    # A script that cleared before and stopped doing so (every n-th step, one branch) needs more proof.
    sampled_steps_after_clearing = 10
    # Gradients handed on untouched keep their norm; less than this share was shrunk on purpose.
    kept_share = 0.95

    def __init__(self) -> None:
        self._streaks: dict[str, _Streak] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, CarriedGradient)
        streak = self._streaks.setdefault(record.optimizer, _Streak())
        self._count(streak, record)
        return [self._judge(streak, record)] if streak.length == self._needed(streak) else ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        """The same findings with their last numbers."""
        for streak in self._streaks.values():
            if streak.last is not None and streak.length > self._needed(streak):
                yield self._judge(streak, streak.last)

    def _needed(self, streak: _Streak) -> int:
        return self.sampled_steps_after_clearing if streak.ever_cleared else self.sampled_steps

    def _count(self, streak: _Streak, record: CarriedGradient) -> None:
        before, streak.last = streak.last, record
        carried = not record.cleared and record.carried_norm > 0 and math.isfinite(record.carried_norm)
        if carried and not self._shrunk(before, record):
            streak.length += 1
            streak.first_step = streak.first_step or record.step
            return
        streak.length = streak.first_step = 0
        streak.ever_cleared |= record.cleared

    def _shrunk(self, before: CarriedGradient | None, record: CarriedGradient) -> bool:
        if before is None or record.step != before.step + 1 or record.parameter != before.parameter:
            return False
        return record.carried_norm < self.kept_share * before.norm

    def _judge(self, streak: _Streak, record: CarriedGradient) -> Finding:
        ratio = record.carried_norm / record.norm if record.norm > 0 else math.inf
        line = f" at {record.place.file}:{record.place.line}" if record.place.file else ""
        optimizer = record.written or record.optimizer
        sampled = f"that of `{record.parameter}`" if record.parameter else "one of them"
        return self.finding(
            severity="error",
            confidence=min(0.99, 0.9 + 0.01 * (streak.length - self.sampled_steps)),
            message=(
                f"The gradients of `{record.optimizer}` have not been cleared since step {streak.first_step}: "
                f"before backward(){line} {sampled} still had norm {record.carried_norm:.3g}, and step "
                f"{record.step} used {record.norm:.3g}, old and new together."
            ),
            why=(
                "backward() adds to the gradients that are there. Without zero_grad() every step follows the "
                f"sum of all gradients since the start; this was so on {streak.length} sampled steps in a row."
            ),
            fix=f"Put `{optimizer}.zero_grad()` on a line of its own before backward(){line}.",
            where=record.place,
            first_step=streak.first_step,
            last_step=record.step,
            evidence={
                "carried_norm": record.carried_norm,
                "norm": record.norm,
                "ratio": ratio,
                "streak": float(streak.length),
                "parameter": record.parameter,
            },
            edit=_edit(record.place, optimizer),
        )


def _edit(place: Place, optimizer: str) -> Edit | None:
    if place.file is None or place.line is None or not place.code:
        return None
    return Edit(place.file, place.line, place.code, f"{optimizer}.zero_grad()\n{place.code}")
