"""TD517: an output that is squashed into a range where the targets are not."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import BY_HAND, at, origin, prediction_in
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.output_activation import output_activation
from torch_debugger.checks.state import RunState
from torch_debugger.records import Comparison, Finding, GraphNode, LossGraph, Record

_LOSSES = ("MseLoss", "SmoothL1Loss", "HuberLoss", *BY_HAND)
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
        squashed = _squashed(graph) if graph is not None else None
        if graph is None or squashed is None or len(looks) < self.looks:
            return
        outside = [self._outside(look, *_RANGES[op_of(squashed)]) for look in looks]
        if min(outside) >= self.smallest_share:
            yield self._judge(graph, squashed, looks[0], outside[0], state)

    def _outside(self, look: Comparison, low: float, high: float) -> float:
        """The share of targets that cannot be reached; 0 where they only just leave the range."""
        below = look.below_minus_one if low < 0 else look.below_zero
        share = below if look.target.lowest < low - self.margin else 0.0
        return share + (look.above_one if look.target.highest > high + self.margin else 0.0)

    def _judge(
        self, graph: LossGraph, node: GraphNode, look: Comparison, outside: float, state: RunState
    ) -> Finding:
        activation = output_activation(graph, node, state)
        low, high = _RANGES[op_of(node)]
        return self.finding(
            severity="error",
            confidence=0.94,
            message=(
                f"The output of {activation.words} lies between {low:g} and {high:g}, but {outside:.0%} of the "
                f"targets of the loss{at(look.made)} do not: they go from {look.target.lowest:.4g} to "
                f"{look.target.highest:.4g}."
            ),
            why=(
                "What lies outside of the range cannot be predicted at all. The model pushes its outputs to "
                "the edge, where the gradient of the activation is close to zero."
            ),
            fix=(
                f"Remove {activation.words} from the output; or bring the targets into the range of {low:g} to "
                f"{high:g} before the loss."
            ),
            where=activation.where,
            first_step=look.step,
            last_step=max(look.step, state.step),
            evidence={
                "share_outside": outside,
                "lowest_target": look.target.lowest,
                "highest_target": look.target.highest,
            },
            edit=activation.removal,
        )


def _squashed(graph: LossGraph) -> GraphNode | None:
    for node in graph.nodes:
        if op_of(node) in _LOSSES:
            prediction = prediction_in(graph, node)
            made_by = origin(graph, prediction) if prediction is not None else None
            if made_by is not None and op_of(made_by) in _RANGES:
                return made_by
    return None
