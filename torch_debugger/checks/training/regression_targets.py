"""Regression targets that the output cannot reach, or reaches late."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line, op_of
from torch_debugger.checks.loss_graph import BY_HAND, origin, output_activation, prediction_in
from torch_debugger.checks.trends import fallen_share
from torch_debugger.records import Comparison, Finding, LossGraph, Record

_LOSSES = ("MseLoss", "SmoothL1Loss", "HuberLoss", *BY_HAND)


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

    def see(self, record: Comparison, state: RunState) -> None:
        if record.op in _LOSSES:
            first, _ = self._looks.get(record.site, (record, record))
            self._looks[record.site] = (first, record)

    def finish(self, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        if fallen is None or fallen > self.fallen or len(self._looks) != 1 or len(state.sites) > 1:
            return
        for first, last in self._looks.values():
            target, output = last.target, last.prediction
            # Where the mean is most of the error, a loss that stays says that the outputs are not even there.
            enough = len(state.losses.points) >= self.losses_needed and last.op in ("MseLoss", *BY_HAND)
            by_loss = enough and abs(target.mean) > 2 * target.std
            if self._is_far(first) and self._is_far(last) and (last.step >= self.steps_needed or by_loss):
                yield self.finding(
                    severity="warning",
                    confidence=0.88,
                    message=f"The targets of the loss{at_line(last.made)} are around {target.mean:.4g} (std "
                    f"{target.std:.4g}), the outputs around {output.mean:.3g} at step {last.step}, and in "
                    f"{state.step} steps the loss lost {fallen:.0%}.",
                    why="A network starts with outputs near zero, and each step moves them by about the learning rate. "
                    "To get to numbers this large takes very long, and all that time only the bias learns.",
                    fix=f"Train on `(target - {target.mean:.4g}) / {target.std or abs(target.mean):.4g}` (mean and std "
                    "of the training set), and turn predictions back with the same two numbers.",
                    where=last.made,
                    steps=(first.step, max(last.step, state.step)),
                    evidence={
                        "target_mean": target.mean,
                        "target_std": target.std,
                        "output_mean": output.mean,
                        "output_std": output.std,
                        "fallen_share": fallen,
                    },
                )

    def _is_far(self, look: Comparison) -> bool:
        target, output = math.hypot(look.target.mean, look.target.std), look.prediction
        return target > self.large and math.hypot(output.mean, output.std) < self.reached * target


_RANGES = {"Sigmoid": (0.0, 1.0), "Softmax": (0.0, 1.0), "Tanh": (-1.0, 1.0)}


class TargetsOutOfReach(Check):
    """The output goes through a sigmoid or tanh, and the targets lie outside of what that can give.

    Symptom:
        The loss falls and then stands still far above zero, with outputs at the edge of their range.
    Evidence:
        The autograd graph: the error is taken of the output of Sigmoid, Softmax or Tanh. And the targets that
        the loss saved: a tenth of them or more beyond that range, in several steps.
    Fix:
        Remove the activation, or bring the targets into its range, and turn them back when predicting.
    Known limits:
        Of losses written by hand, squares and absolute values of differences are seen. Targets that leave the
        range by less than a fifth are not reported.
    """

    id = "TD517"
    name = "targets-out-of-reach"
    title = "targets outside of the range that the output can reach"
    reads = (LossGraph, Comparison)
    explains = ("saturated-sigmoid-or-tanh", "vanishing-gradient")

    # Of the targets, in each look.
    smallest_share = 0.1
    # Beyond the edge: rounding and a little noise are no fault.
    margin = 0.2
    looks = 2

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}
        self._looks: dict[str, list[Comparison]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, Comparison) and record.op in _LOSSES:
            looks = self._looks.setdefault(record.site, [])
            if len(looks) < self.looks:
                looks.append(record)
                return self._judge_site(record.site, state)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [finding for site in self._looks for finding in self._judge_site(site, state)]

    def _judge_site(self, site: str, state: RunState) -> Iterable[Finding]:
        graph, looks = self._graphs.get(site), self._looks[site]
        if graph is None or len(looks) < self.looks:
            return
        compared = (origin(graph, prediction_in(graph, node)) for node in graph.nodes if op_of(node) in _LOSSES)
        squashed = next((node for node in compared if node is not None and op_of(node) in _RANGES), None)
        if squashed is None:
            return
        low, high = _RANGES[op_of(squashed)]
        shares = []  # of targets that cannot be reached; 0 where they only just leave the range
        for look in looks:
            below = look.below_minus_one if low < 0 else look.below_zero
            share = below if look.target.lowest < low - self.margin else 0.0
            shares.append(share + (look.above_one if look.target.highest > high + self.margin else 0.0))
        if min(shares) < self.smallest_share:
            return
        activation, look, outside = output_activation(graph, squashed, state), looks[0], shares[0]
        yield self.finding(
            severity="error",
            confidence=0.94,
            message=f"The output of {activation.words} lies between {low:g} and {high:g}, but {outside:.0%} of the "
            f"targets of the loss{at_line(look.made)} do not: they go from {look.target.lowest:.4g} to "
            f"{look.target.highest:.4g}.",
            why="What lies outside of the range cannot be predicted at all. The model pushes its outputs to "
            "the edge, where the gradient of the activation is close to zero.",
            fix=f"Remove {activation.words} from the output; or bring the targets into the range of {low:g} to "
            f"{high:g} before the loss.",
            where=activation.where,
            steps=(look.step, max(look.step, state.step)),
            evidence={
                "share_outside": outside,
                "lowest_target": look.target.lowest,
                "highest_target": look.target.highest,
            },
            edit=activation.removal,
        )
