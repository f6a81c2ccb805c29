"""TD525: outputs rounded before the loss, which lets no gradient through."""

from __future__ import annotations

from torch_debugger.checks.graph import at
from torch_debugger.checks.graph_ops import numbers_by_op, op_of
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph, Place

_FLAT = {"Round": "round", "Sign": "sign", "Floor": "floor", "Ceil": "ceil", "Trunc": "trunc"}


class RoundingBeforeLoss(LossGraphCheck):
    """All that the loss sees of the model has been rounded, and rounding has the gradient zero.

    Symptom:
        The loss never changes but for the batches; every gradient is exactly zero and no weight moves.
    Evidence:
        The autograd graph: every path from the loss to a parameter leads through round, sign, floor, ceil or
        trunc.
    Fix:
        Give the loss the output itself; round only for the accuracy or the answer. Where the model must learn
        through rounding, use `x + (x.round() - x).detach()`.
    Known limits:
        Not said where the graph is too large to follow every path.
    """

    id = "TD525"
    name = "rounding-before-loss"
    title = "outputs are rounded before the loss: no gradient flows"
    explains = ("vanishing-gradient", "lr-too-low", "graph-cut")

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        node = _wall(graph)
        if node is None:
            return None
        name = _FLAT[op_of(node)]
        where = _line(graph, node)
        return self.finding(
            severity="error",
            confidence=0.97,
            message=(
                f"Everything that the loss{at(where)} sees of the model goes through {name}(), whose gradient "
                "is zero everywhere: no weight can learn."
            ),
            why=(
                f"A small change of a weight does not change the result of {name}() at all, so autograd "
                "rightly says that every weight is as good as any other."
            ),
            fix=(
                f"Take {name}() away in front of the loss, and use it only to show answers or to count them; "
                f"to learn through it, write `x + (x.{name}() - x).detach()`."
            ),
            where=where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"op": op_of(node), "shape": str(tuple(node.shape)), "loss": graph.loss},
        )


def _wall(graph: LossGraph) -> GraphNode | None:
    """The first flat op, where no parameter and nothing unread can be reached but through such ops."""
    if not numbers_by_op(graph).keys() & _FLAT.keys():
        return None
    flat: list[GraphNode] = []
    waiting, seen = [0] if graph.nodes else [], {0}
    while waiting:
        index = waiting.pop()
        if index >= len(graph.nodes) or graph.nodes[index].parameter is not None:
            return None
        if op_of(graph.nodes[index]) in _FLAT:
            flat.append(graph.nodes[index])
            continue
        below = [number for number in graph.nodes[index].inputs if number is not None and number not in seen]
        seen.update(below)
        waiting += below
    return flat[0] if flat else None


def _line(graph: LossGraph, node: GraphNode) -> Place:
    if node.place is not None and node.place.file:
        return node.place
    return graph.made if graph.made.file else graph.place
