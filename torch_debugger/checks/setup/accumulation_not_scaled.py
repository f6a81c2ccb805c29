"""TD139: accumulated gradients that nobody divides, and a loss that grows from it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import start_level
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, LossGraph, Record, StepCycle


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

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
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
        return ()

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
            message=(
                f"`{code}`{at_line(cycle.backward)} runs {count} times for each `{cycle.optimizer}.step()` and "
                f"the loss is not divided by {count}; it rose from {start:.3g} to {last:.3g}."
            ),
            why=(
                f"backward() adds to the gradients. The sum of {count} means is {count} times as long as a "
                "mean, and so is every update."
            ),
            fix=f"Write `{_divided(code, count)}`{at_line(cycle.backward)}.",
            where=cycle.backward,
            first_step=cycles[0].step,
            last_step=cycle.step,
            evidence={"backwards": float(count), "start_loss": start, "last_loss": last},
        )


def _divided(code: str, count: int) -> str:
    name, dot, rest = code.partition(".backward(")
    return f"({name} / {count}){dot}{rest}" if dot and name.isidentifier() else f"(loss / {count}).backward()"
