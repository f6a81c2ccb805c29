"""TD526: a loss that is summed over the batch, with a learning rate for its mean."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import recent_level, start_level
from torch_debugger.checks.graph import SHAPE_ONLY, at, call_of, operands
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.optimizer_call import highest_rate
from torch_debugger.checks.state import RunState
from torch_debugger.records import Comparison, Finding, GraphNode, LossGraph, OptimizerFact, Record

_LOSSES = ("MseLoss", "SmoothL1Loss", "HuberLoss", "NllLoss", "NllLoss2D", "BinaryCrossEntropy",
           "BinaryCrossEntropyWithLogits")  # fmt: skip


class LossSummedOverBatch(Check):
    """The loss is the sum over the batch, so every step is as many times too large as the batch has samples.

    Symptom:
        The loss rises or becomes NaN within a few steps, at a learning rate that is usual for a mean. A larger
        batch makes it worse.
    Evidence:
        The autograd graph: the loss ends in a sum over samples, with nothing that divides it. The optimizer is
        SGD, whose step grows with the gradient; its rate would be usual for the mean, but not times the batch.
    Fix:
        Take the mean, or divide the learning rate by the number of samples.
    Known limits:
        Said only of runs that diverge, and of SGD: Adam and its kin take the gradient's size out again.
    """

    id = "TD526"
    name = "loss-summed-over-batch"
    title = "the loss is a sum over the batch and its steps are too large"
    reads = (LossGraph, Comparison)
    explains = ("lr-too-high", "loss-not-finite", "overflow-ahead", "exploding-gradient", "dead-relu")

    # A rate that plain SGD may have for a mean; and what no loss of usual scale bears.
    usual_rate = 0.5
    smallest_sum = 8
    risen = 4.0

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}
        self._sizes: dict[str, int] = {}  # site -> numbers that a loss function compared

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, Comparison):
            self._sizes.setdefault(record.site, math.prod(record.shape))
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        optimizer = next(iter(state.optimizers.values())) if len(state.optimizers) == 1 else None
        rate = highest_rate(optimizer) if optimizer else None
        if optimizer is None or rate is None or optimizer.kind != "SGD" or not self._diverged(state):
            return
        for site, graph in self._graphs.items():
            node, count = self._summed(graph, self._sizes.get(site, 0))
            if node is not None and rate <= self.usual_rate < rate * count:
                yield self._judge(graph, node, count, optimizer, rate, state)

    def _diverged(self, state: RunState) -> bool:
        points = state.losses.finite()
        if len(state.sites) > 1 or not points:
            return False
        if len(points) < len(state.losses.points):
            return True
        return len(points) >= 10 and recent_level(points) > self.risen * abs(start_level(points))

    def _summed(self, graph: LossGraph, size: int) -> tuple[GraphNode | None, int]:
        """The sum that the loss is, and over how many numbers it goes."""
        node = graph.nodes[0] if graph.nodes else None
        for _ in graph.nodes:
            if node is None or op_of(node) not in SHAPE_ONLY:
                break
            node = next(operands(graph, node), None)
        if node is None:
            return None, 0
        below = next(operands(graph, node), None)
        if op_of(node) in _LOSSES and node.saved.get("reduction") == "sum" and below is not None:
            count = size or below.shape[0]
        elif (
            op_of(node) == "Sum"
            and not node.shape
            and below is not None
            and op_of(below) not in ("Stack", "Cat")
        ):
            count = math.prod(below.shape)
        else:
            return None, 0
        return (node, count) if count >= self.smallest_sum else (None, 0)

    def _judge(
        self,
        graph: LossGraph,
        node: GraphNode,
        count: int,
        optimizer: OptimizerFact,
        rate: float,
        state: RunState,
    ) -> Finding:
        where = call_of(graph, node)
        return self.finding(
            severity="error",
            confidence=0.85,
            message=(
                f"The loss{at(where)} is a sum over {count} numbers, and with `{optimizer.name}` (SGD, lr "
                f"{rate:g}) it grows instead of falling: each step is as large as one at a rate of "
                f"{rate * count:.3g} for their mean."
            ),
            why=(
                "The gradient of a sum is as many times larger than that of the mean as there are numbers in "
                "it, and SGD steps by gradient times rate."
            ),
            fix=f"Take the mean in place of the sum{at(where)}; or set `lr` to {rate / count:.2g}.",
            where=where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"summed": float(count), "lr": rate, "lr_for_mean": rate * count, "loss": graph.loss},
        )
