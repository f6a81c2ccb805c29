"""zero_grad(): missing, too late, and accumulated gradients that nobody divides."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.checks.optimization import Streak, StreakCheck, call_at
from torch_debugger.checks.trends import start_level
from torch_debugger.records import CarriedGradient, Finding, LossGraph, Record, StepCycle


@dataclass
class _StaleStreak:
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
        self._streaks: dict[str, _StaleStreak] = {}

    def see(self, record: CarriedGradient, state: RunState) -> Iterable[Finding]:
        streak = self._streaks.setdefault(record.optimizer, _StaleStreak())
        self._count(streak, record)
        return [self._judge(streak, record)] if streak.length == self._needed(streak) else ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        """The same findings with their last numbers."""
        for streak in self._streaks.values():
            if streak.last is not None and streak.length > self._needed(streak):
                yield self._judge(streak, streak.last)

    def _needed(self, streak: _StaleStreak) -> int:
        return self.sampled_steps_after_clearing if streak.ever_cleared else self.sampled_steps

    def _count(self, streak: _StaleStreak, record: CarriedGradient) -> None:
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

    def _judge(self, streak: _StaleStreak, record: CarriedGradient) -> Finding:
        ratio = record.carried_norm / record.norm if record.norm > 0 else math.inf
        line = at_line(record.place)
        optimizer = record.written or record.optimizer
        sampled = f"that of `{record.parameter}`" if record.parameter else "one of them"
        return self.finding(
            severity="error",
            confidence=min(0.99, 0.9 + 0.01 * (streak.length - self.sampled_steps)),
            message=f"The gradients of `{record.optimizer}` have not been cleared since step {streak.first_step}: "
            f"before backward(){line} {sampled} still had norm {record.carried_norm:.3g}, and step "
            f"{record.step} used {record.norm:.3g}, old and new together.",
            why="backward() adds to the gradients that are there. Without zero_grad() every step follows the "
            f"sum of all gradients since the start; this was so on {streak.length} sampled steps in a row.",
            fix=f"Put `{optimizer}.zero_grad()` on a line of its own before backward(){line}.",
            where=record.place,
            steps=(streak.first_step, record.step),
            evidence={
                "carried_norm": record.carried_norm,
                "norm": record.norm,
                "ratio": ratio,
                "streak": float(streak.length),
                "parameter": record.parameter,
            },
            edit=edit_line(record.place, f"{optimizer}.zero_grad()\n{record.place.code}"),
        )


class ZeroGradBeforeStep(StreakCheck):
    """Gradients are cleared between backward() and the optimizer's step.

    Symptom:
        The loss stays where it began. Nothing is wrong with the data, the model or the learning rate.
    Evidence:
        On several sampled steps in a row a zero_grad() was called after the last backward() while gradients
        were there, and the optimizer's step then found none, or zeros only.
    Fix:
        Move `optimizer.zero_grad()` before `loss.backward()`, or after `optimizer.step()`.
    Known limits:
        Gradients that are cleared by hand (`p.grad = None`) are not seen. On a GPU only gradients that
        were set to None count, which is what zero_grad() does by default.
    """

    id = "TD110"
    name = "zero-grad-before-step"
    title = "gradients are cleared before the step that should use them"

    # By value and by order of calls: holds for any optimizer. A script may clear once to skip a bad batch.
    sampled_steps = 3

    def is_wrong(self, cycle: StepCycle) -> bool:
        return bool(cycle.cleared) and cycle.backwards > 0 and cycle.gradients in ("none", "zero")

    def judge(self, streak: Streak, state: RunState) -> Finding:
        cycle = streak.last
        clear = cycle.cleared.code or "zero_grad()"
        return self.finding(
            severity="error",
            confidence=0.97,
            message=f"{call_at(cycle.cleared, 'zero_grad()')} clears the gradients after backward() and before "
            f"{call_at(cycle.place, f'{cycle.optimizer}.step()')}: since step {streak.first_step} the step "
            f"has found {'no gradients' if cycle.gradients == 'none' else 'zeros only'}.",
            why="backward() fills the gradients and step() uses them; what is cleared in between never reaches "
            f"the weights. This was so on {streak.length} sampled steps in a row.",
            fix=f"Move `{clear}`{at_line(cycle.cleared)} before {call_at(cycle.backward, 'backward()')}, or after the "
            "step; remove it where they are cleared there already.",
            where=cycle.cleared,
            steps=(streak.first_step, max(cycle.step, state.step)),
            evidence={
                "optimizer": cycle.optimizer,
                "gradients": cycle.gradients,
                "backwards": float(cycle.backwards),
                "streak": float(streak.length),
            },
        )


class AccumulationNotScaled(Check):
    """Gradients of several batches are added up undivided, and the updates are too large by their number.

    Symptom:
        The loss grows or goes to NaN since gradients are accumulated, with a learning rate that was fine
        before.
    Evidence:
        Every update came after the same number of backward passes of one loss, that loss is a mean that is not
        divided by anything, the optimizer follows the size of the gradient (SGD), and the loss rose far above
        its start.
    Fix:
        Divide the loss by the number of batches: `(loss / n).backward()`.
    Known limits:
        Said only where the loss has grown: undivided gradients with a rate to match are as good. Adam and its
        kin do not mind the size of a gradient and are not judged. Gradients divided in another way are not
        seen.
    """

    id = "TD139"
    name = "accumulation-not-scaled"
    title = "accumulated gradients are not divided by their number"
    reads = (StepCycle, LossGraph)
    explains = ("lr-too-high", "loss-not-finite", "overflow-ahead", "exploding-gradient", "dead-relu")

    # Fewer batches change an update by less than a good learning rate can take.
    batches_needed = 3
    looks_needed = 3
    # The loss against its start; noise stays below.
    risen = 4.0
    followers = ("SGD", "ASGD")
    # What a mean looks like at the end of a graph; a division would stand behind it.
    means = ("NllLoss", "MseLoss", "Mean", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropyWithLogits")

    def __init__(self) -> None:
        self._cycles: dict[str, list[StepCycle]] = {}  # of each length, the first ones and the last
        self._undivided: bool | None = None

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, StepCycle):
            cycles = self._cycles.setdefault(record.optimizer, [])
            alike = [each for each in cycles if each.backwards == record.backwards]
            if len(alike) > self.looks_needed:
                cycles.remove(alike[-1])
            cycles.append(record)
        elif isinstance(record, LossGraph) and record.nodes:
            end = record.nodes[0]
            mean = end.op in self.means and end.saved.get("reduction", "mean") == "mean"
            self._undivided = mean and self._undivided is not False

    def finish(self, state: RunState) -> Iterable[Finding]:
        points = state.losses.finite()
        if not self._undivided or len(state.sites) != 1 or len(points) < 3:
            return
        last = state.losses.points[-1][1]
        grown = not math.isfinite(last) or last > self.risen * start_level(points)
        for name, cycles in self._cycles.items():
            optimizer = state.optimizers.get(name)
            count = cycles[0].backwards
            same = len(cycles) >= self.looks_needed and all(cycle.backwards == count for cycle in cycles)
            follows = optimizer is not None and optimizer.kind in self.followers
            if grown and same and follows and count >= self.batches_needed:
                yield self._found(cycles, start_level(points), last)

    def _found(self, cycles: list[StepCycle], start: float, last: float) -> Finding:
        cycle, count = cycles[-1], cycles[-1].backwards
        code = cycle.backward.code or "loss.backward()"
        return self.finding(
            severity="error",
            confidence=0.8,
            message=f"`{code}`{at_line(cycle.backward)} runs {count} times for each `{cycle.optimizer}.step()` and "
            f"the loss is not divided by {count}; it rose from {start:.3g} to {last:.3g}.",
            why=f"backward() adds to the gradients. The sum of {count} means is {count} times as long as a "
            "mean, and so is every update.",
            fix=f"Write `{_divided(code, count)}`{at_line(cycle.backward)}.",
            where=cycle.backward,
            steps=(cycles[0].step, cycle.step),
            evidence={"backwards": float(count), "start_loss": start, "last_loss": last},
        )


def _divided(code: str, count: int) -> str:
    name, dot, rest = code.partition(".backward(")
    return f"({name} / {count}){dot}{rest}" if dot and name.isidentifier() else f"(loss / {count}).backward()"
