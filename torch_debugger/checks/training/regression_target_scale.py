"""TD518: targets in the thousands for an output that starts near zero."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import fallen_share
from torch_debugger.checks.graph import BY_HAND, at
from torch_debugger.checks.state import RunState
from torch_debugger.records import Comparison, Finding, Record, Spread


class RegressionTargetScale(Check):
    """The targets are so large that the outputs, which start near zero, do not get there.

    Symptom:
        The loss is huge and hardly falls, and the predictions stay near zero.
    Evidence:
        Both sides of the error as the loss saved them: the outputs are under a twentieth of the targets' size,
        and at the end of the run the loss has lost less than a fifth.
    Fix:
        Train on `(target - mean) / std` with mean and std of the training set, and turn predictions back.
    Known limits:
        Seen for MSE, L1, Huber and smooth L1 loss, called or written by hand behind a linear layer, in runs of
        40 steps or more with one loss.
    """

    id = "TD518"
    name = "regression-target-scale"
    title = "targets far larger than the outputs ever get"
    reads = (Comparison,)

    # Root mean square of the targets; an output layer starts near 1.
    large = 100.0
    # Of the targets' size, early and late.
    reached = 0.05
    # Of the loss, at the end.
    fallen = 0.2
    steps_needed = 40
    losses_needed = 100

    def __init__(self) -> None:
        self._looks: dict[str, tuple[Comparison, Comparison]] = {}  # site -> the first and the last

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, Comparison)
        if record.op in ("MseLoss", "SmoothL1Loss", "HuberLoss", *BY_HAND):
            first, _ = self._looks.get(record.site, (record, record))
            self._looks[record.site] = (first, record)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        if fallen is None or fallen > self.fallen or len(self._looks) != 1 or len(state.sites) > 1:
            return
        for first, last in self._looks.values():
            far = self._is_far(first) and self._is_far(last)
            if far and (last.step >= self.steps_needed or self._tells_by_loss(last, state)):
                yield self._judge(first, last, fallen, state)

    def _tells_by_loss(self, last: Comparison, state: RunState) -> bool:
        """Where the mean is most of the error, a loss that stays says that the outputs are not even there."""
        enough = len(state.losses.points) >= self.losses_needed
        return enough and last.op in ("MseLoss", *BY_HAND) and abs(last.target.mean) > 2 * last.target.std

    def _is_far(self, look: Comparison) -> bool:
        size = _size(look.target)
        return size > self.large and _size(look.prediction) < self.reached * size

    def _judge(self, first: Comparison, last: Comparison, fallen: float, state: RunState) -> Finding:
        target, output = last.target, last.prediction
        return self.finding(
            severity="warning",
            confidence=0.88,
            message=(
                f"The targets of the loss{at(last.made)} are around {target.mean:.4g} (std {target.std:.4g}), "
                f"the outputs around {output.mean:.3g} at step {last.step}, and in {state.step} steps the loss "
                f"lost {fallen:.0%}."
            ),
            why=(
                "A network starts with outputs near zero, and each step moves them by about the learning rate. "
                "To get to numbers this large takes very long, and all that time only the bias learns."
            ),
            fix=(
                f"Train on `(target - {target.mean:.4g}) / {_scale(target):.4g}` (mean and std of the training "
                "set), and turn predictions back with the same two numbers."
            ),
            where=last.made,
            first_step=first.step,
            last_step=max(last.step, state.step),
            evidence={
                "target_mean": target.mean,
                "target_std": target.std,
                "output_mean": output.mean,
                "output_std": output.std,
                "fallen_share": fallen,
            },
        )


def _size(side: Spread) -> float:
    return math.hypot(side.mean, side.std)


def _scale(target: Spread) -> float:
    return target.std or abs(target.mean)
