"""TD511: a view where a transpose was meant, between the model's scores and the loss."""

from __future__ import annotations

import math

from torch_debugger.checks.graph import at, call_of, operands
from torch_debugger.checks.graph_ops import nodes_with, op_of
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph

_VIEWS = ("View", "UnsafeView", "ReshapeAlias", "Reshape")


class ScoresScrambledByView(LossGraphCheck):
    """The scores get the shape that the loss wants by a view, which mixes classes and places.

    Symptom:
        The shapes fit and the loss falls a little, to what the frequencies of the classes alone would give. The
        model cannot learn more, because its scores for one place are compared with the targets of others.
    Evidence:
        The autograd graph: cross-entropy takes the scores through a view that turns (batch, length, classes)
        into (batch, classes, length), or (batch, classes, height, width) into (places, classes).
        A view keeps the numbers in their order; only a transpose moves them.
    Fix:
        `scores.transpose(1, 2)` for sequences, `scores.permute(0, 2, 3, 1).reshape(-1, classes)` for pictures;
        cross-entropy also takes (batch, classes, height, width) as it is.
    Known limits:
        Where two of the sizes are equal, nothing is said.
    """

    id = "TD511"
    name = "scores-scrambled-by-view"
    title = "a view where the scores should be transposed for the loss"

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        found = _scrambled(graph)
        if found is None:
            return None
        loss, view, source = found
        given, wanted = tuple(source.shape), tuple(view.shape)
        where = call_of(graph, loss)
        return self.finding(
            severity="error",
            confidence=0.95,
            message=(
                f"The scores of shape {given} reach the cross-entropy{at(where)} through a view as {wanted}: "
                f"{wanted[1]} classes and {math.prod(given) // given[0] // wanted[1]} places are mixed up."
            ),
            why=(
                "A view reads the same numbers in the same order under another shape. What the loss takes for "
                "the scores of one place are scores of several, so the targets do not belong to them."
            ),
            fix=_fix(given, wanted),
            where=where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"scores_shape": str(given), "viewed_shape": str(wanted), "loss": graph.loss},
        )


def _scrambled(graph: LossGraph) -> tuple[GraphNode, GraphNode, GraphNode] | None:
    """The loss, the view in front of its log-softmax, and the scores, where these do not fit together."""
    for loss in nodes_with(graph, ("NllLoss", "NllLoss2D")):
        softmax = _softmax_of(graph, loss)
        view = next(operands(graph, softmax), None) if softmax is not None else None
        if view is None or op_of(view) not in _VIEWS:
            continue
        source = next(operands(graph, view), None)
        if source is not None and (_swaps(source.shape, view.shape) or _flattens(source.shape, view.shape)):
            return loss, view, source
    return None


def _softmax_of(graph: LossGraph, loss: GraphNode) -> GraphNode | None:
    node = next(operands(graph, loss), None)
    if node is not None and op_of(node) in _VIEWS:  # cross-entropy gives sequences a fourth dimension
        node = next(operands(graph, node), None)
    return node if node is not None and op_of(node) == "LogSoftmax" else None


def _swaps(given: tuple[int, ...], made: tuple[int, ...]) -> bool:
    """(batch, length, classes) viewed as (batch, classes, length), or the other way round."""
    if len(given) != 3 or len(made) != 3:
        return False
    return (
        given[0] == made[0] and given[1:] == (made[2], made[1]) and given[1] != given[2] and 1 not in given[1:]
    )


def _flattens(given: tuple[int, ...], made: tuple[int, ...]) -> bool:
    """(batch, classes, places...) viewed as (places, classes)."""
    if len(given) < 3 or len(made) != 2:
        return False
    return given[1] == made[1] and math.prod(given[2:]) > 1 and given[-1] != made[1]


def _fix(given: tuple[int, ...], made: tuple[int, ...]) -> str:
    if len(made) == 3:
        return "Use `.transpose(1, 2)` on the scores in place of the view."
    dims = ", ".join(str(dim) for dim in range(2, len(given)))
    return (
        f"Use `.permute(0, {dims}, 1).reshape(-1, {made[1]})` on the scores; or give them to cross_entropy as "
        "they are, with the targets in their own shape."
    )
