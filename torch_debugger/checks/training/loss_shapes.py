"""Shapes that meet in a loss: broadcast by accident, or scrambled by a view."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from torch_debugger.checks.base import RunState, at_line, nodes_with, op_of
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.checks.loss_graph import SHAPE_ONLY, LossGraphCheck, call_of, first_operand
from torch_debugger.records import AutogradNode, Edit, Finding, LocalTensor, LossGraph, Place

# Losses that broadcast their operands first; nobody feeds them pairs on purpose.
_LOSSES = frozenset({"MseLoss", "SmoothL1Loss", "HuberLoss", "L1Loss", "KlDiv", "BinaryCrossEntropy",
                     "BinaryCrossEntropyWithLogits", "SoftMarginLoss"})  # fmt: skip
_BETWEEN = frozenset({"Sub", "Rsub", "Add", "Mul", "Div", "Maximum", "Minimum", "Where"})
_UNARY = frozenset({"Abs", "Clamp", "Exp", "Log", "Log1P", "Mean", "Neg", "Pow", "Sigmoid", "Softplus", "Sqrt",
                    "Sum", "Tanh"})  # fmt: skip
# What a loss is made of: the walk from the loss stops where the model's own layers begin.
_LOSS_OPS = _LOSSES | _BETWEEN | _UNARY | SHAPE_ONLY | {"Expand"}
# Shapes made on purpose for a comparison of all with all.
_DELIBERATE = frozenset({"Unsqueeze", "T", "Transpose", "Permute"})
_TARGET_NAMES = ("target", "targets", "y", "label", "labels", "yb", "y_true", "batch_y")


class LossBroadcast(LossGraphCheck):
    """The loss compares every prediction with every target, because their shapes differ.

    Symptom:
        The loss falls to the spread of the targets and stays there; the model learns to answer the
        mean, whatever the input.
    Evidence:
        The autograd graph of the loss: an operation whose result is (N, N) although the prediction
        is (N, 1) and the other operand, the target, needs no gradient.
    Fix:
        Give both the same shape: `prediction.squeeze(1)` or `target.unsqueeze(1)`.
    Known limits:
        Losses over pairs, where both operands carry gradients or one was given its extra dimension on
        purpose with unsqueeze, are not reported. With a batch of one there is nothing to see.
    """

    id = "TD502"
    name = "loss-broadcast"
    title = "prediction and target have shapes that broadcast to all pairs"

    # A batch of one broadcasts to itself.
    smallest_batch = 2

    def _broadcast(self, graph: LossGraph) -> tuple[AutogradNode, AutogradNode] | None:
        """The op that blew up and the prediction that went into it: (N, 1, ...) or (N, ...) became (N, N, ...)."""
        for consumer, node in _loss_nodes(graph):
            prediction, made = first_operand(graph, node), tuple(node.shape)
            if prediction is None or len(made) < 2 or made[0] != made[1] or made[0] < self.smallest_batch:
                continue
            if tuple(prediction.shape) not in ((made[0], 1, *made[2:]), (made[0], *made[2:])):
                continue
            if _is_accident(consumer, node, prediction) and not _is_parameter(graph, prediction):
                return node, prediction
        return None

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        found = self._broadcast(graph)
        if found is None:
            return None
        node, prediction = found
        given, (count, _, *rest) = tuple(prediction.shape), node.shape
        pred_has_more = len(given) >= len(node.shape)
        # The shape of the other operand, which broadcast against the prediction's.
        wanted = (count, *rest) if len(given) == len(node.shape) else (count, 1, *rest)
        pred, target = _named(graph.locals, given, True), _named(graph.locals, wanted, False)
        where = next((line for line in (graph.computed, graph.made) if line.file), graph.place)
        shapes = f"{f'`{pred.name}`' if pred else 'the prediction'} {given} and "
        shapes += f"{f'`{target.name}`' if target else 'the target'} {wanted}"
        made = " x ".join(str(size) for size in node.shape)
        names = [pred.name if pred else "prediction", target.name if target else "target"]
        longer, shorter = names if pred_has_more else reversed(names)
        return self.finding(
            severity="error",
            confidence=0.97 if pred and target else 0.88,
            message=f"The loss{at_line(where)} compares every prediction with every target: {shapes} broadcast to "
            f"{made} values.",
            why=f"{math.prod(node.shape):,} differences are taken instead of {math.prod(given):,}, so the "
            "answer that suits them best is the mean of all targets, whatever the input.",
            fix=f"Use `{longer}.squeeze(1)` in the loss, or `{shorter}.unsqueeze(1)`, so that both have one shape.",
            where=where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={
                "op": op_of(node),
                "prediction_shape": str(given),
                "target_shape": str(wanted),
                "broadcast_shape": str(tuple(node.shape)),
                "loss": graph.loss,
            },
            edit=_edit(where, pred, target, pred_has_more),
        )


def _loss_nodes(graph: LossGraph) -> Iterator[tuple[AutogradNode | None, AutogradNode]]:
    """(consumer, node) from the loss down to the model's output."""
    waiting: list[tuple[int | None, int]] = [(None, 0)] if graph.nodes else []
    seen: set[int] = set()
    while waiting:
        above, index = waiting.pop()
        if index in seen or index >= len(graph.nodes) or op_of(graph.nodes[index]) not in _LOSS_OPS:
            continue
        seen.add(index)
        yield (None if above is None else graph.nodes[above]), graph.nodes[index]
        waiting += [(index, below) for below in graph.nodes[index].inputs if below is not None]


def _is_accident(consumer: AutogradNode | None, node: AutogradNode, prediction: AutogradNode) -> bool:
    if op_of(node) == "Expand":
        # Losses expand both operands themselves; an expand in the user's own code is meant.
        return consumer is not None and op_of(consumer) in _LOSSES | {"Sub"} and None in consumer.inputs
    alone = None in node.inputs and sum(index is not None for index in node.inputs) == 1
    return op_of(node) in _BETWEEN and alone and op_of(prediction) not in _DELIBERATE


def _is_parameter(graph: LossGraph, node: AutogradNode) -> bool:
    """A learned vector meeting a batch of the same size by chance is no prediction."""
    while op_of(node) in _UNARY | SHAPE_ONLY and (following := first_operand(graph, node)) is not None:
        node = following
    return node.parameter is not None


def _named(tensors: Sequence[LocalTensor], shape: tuple[int, ...], gradient: bool) -> LocalTensor | None:
    fitting = [one for one in tensors if tuple(one.shape) == shape and one.requires_grad is gradient]
    usual = [one for one in fitting if one.name in _TARGET_NAMES]
    fitting = [one for one in fitting if "float" in one.dtype]  # whole numbers are indices more often
    # Locals are in order of their first assignment, and targets come after inputs.
    return (usual or fitting)[-1] if usual or fitting else None


def _edit(where: Place, pred: LocalTensor | None, target: LocalTensor | None, pred_has_more: bool) -> Edit | None:
    """One of the two reshaped where it stands, if the line names it once."""
    longer, shorter = (pred, target) if pred_has_more else (target, pred)
    for tensor, change in ((longer, "squeeze(1)"), (shorter, "unsqueeze(1)")):
        if tensor is None:
            continue
        name = rf"\b{re.escape(tensor.name)}\b(?!\s*[\[.(=])"
        after, count = re.subn(name, f"{tensor.name}.{change}", where.code or "")
        if count == 1:
            return edit_line(where, after)
    return None


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
        for loss in nodes_with(graph, ("NllLoss", "NllLoss2D")):
            softmax = first_operand(graph, loss)
            if softmax is not None and op_of(softmax) in _VIEWS:  # cross-entropy gives sequences a fourth dimension
                softmax = first_operand(graph, softmax)
            if softmax is None or op_of(softmax) != "LogSoftmax":
                continue
            view = first_operand(graph, softmax)
            source = first_operand(graph, view) if view is not None and op_of(view) in _VIEWS else None
            fix = _instead_of_view(source.shape, view.shape) if view is not None and source is not None else None
            if view is not None and source is not None and fix is not None:
                return self._scrambled(graph, loss, tuple(source.shape), tuple(view.shape), fix, state)
        return None

    def _scrambled(
        self,
        graph: LossGraph,
        loss: AutogradNode,
        given: tuple[int, ...],
        wanted: tuple[int, ...],
        fix: str,
        state: RunState,
    ) -> Finding:
        where = call_of(graph, loss)
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"The scores of shape {given} reach the cross-entropy{at_line(where)} through a view as {wanted}: "
            f"{wanted[1]} classes and {math.prod(given) // given[0] // wanted[1]} places are mixed up.",
            why="A view reads the same numbers in the same order under another shape. What the loss takes for "
            "the scores of one place are scores of several, so the targets do not belong to them.",
            fix=fix,
            where=where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={"scores_shape": str(given), "viewed_shape": str(wanted), "loss": graph.loss},
        )


def _instead_of_view(given: tuple[int, ...], made: tuple[int, ...]) -> str | None:
    """What to write where a view stands for a transpose; None where it does not."""
    if len(given) == len(made) == 3 and given[1:] == (made[2], made[1]):
        # (batch, length, classes) viewed as (batch, classes, length), or the other way round
        mixed = given[0] == made[0] and given[1] != given[2] and 1 not in given[1:]
        return "Use `.transpose(1, 2)` on the scores in place of the view." if mixed else None
    # (batch, classes, places...) viewed as (places, classes)
    if len(given) < 3 or len(made) != 2 or given[1] != made[1] or math.prod(given[2:]) <= 1 or given[-1] == made[1]:
        return None
    dims = ", ".join(str(dim) for dim in range(2, len(given)))
    return (
        f"Use `.permute(0, {dims}, 1).reshape(-1, {made[1]})` on the scores; or give them to cross_entropy as "
        "they are, with the targets in their own shape."
    )
