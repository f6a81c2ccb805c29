"""TD513: probabilities that add up to 1 over the batch, or the sequence, and not over the classes."""

from __future__ import annotations

from torch_debugger.checks.graph import SHAPE_ONLY, at, op_of, operands, origin
from torch_debugger.checks.output_activation import output_activation
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph

_LOSSES = ("NllLoss", "NllLoss2D")


class SoftmaxWrongDim(LossGraphCheck):
    """The softmax in front of the loss runs over another dimension than the classes.

    Symptom:
        The loss falls below what the model deserves or stays high, accuracy is poor, and a sample's answer
        depends on the other samples of its batch.
    Evidence:
        The autograd graph: the negative log-likelihood picks classes along one dimension, and the log-softmax
        (or softmax and log) that feeds it was taken along another one.
    Fix:
        `dim=1` for scores of (batch, classes), `dim=-1` for (batch, length, classes).
    Known limits:
        Judged only where the loss is `nll_loss` and nothing but views stand between it and the softmax. If the
        scores were permuted, or both dimensions have one size, nothing is said.
    """

    id = "TD513"
    name = "softmax-wrong-dim"
    title = "softmax runs over the batch, not over the classes"
    explains = ("loss-not-finite", "nll-on-raw-logits")

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        found = _mismatch(graph)
        if found is None:
            return None
        softmax, wanted = found
        shape, dim = softmax.shape, _dim(softmax)
        place = output_activation(graph, softmax, state)
        over = "the batch" if dim == 0 else f"dimension {dim}"
        return self.finding(
            severity="error",
            confidence=0.95,
            message=(
                f"The {place.function}{at(place.where)} runs over {over} (dim={dim}) of {tuple(shape)}, but "
                f"the loss picks one of {shape[wanted]} classes along dim={wanted}."
            ),
            why=(
                "Scores of different samples compete with each other, and those of one sample do not: its "
                "probabilities do not add up to 1, so a model can lower the loss for all classes at once."
            ),
            fix=f"Write `dim={wanted}` in place of `dim={dim}` in {place.words}.",
            where=place.where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={
                "shape": str(tuple(shape)),
                "dim": float(dim),
                "class_dim": float(wanted),
                "loss": graph.loss,
            },
        )


def _mismatch(graph: LossGraph) -> tuple[GraphNode, int] | None:
    """The softmax and the dimension that holds its classes, where these differ."""
    for node in graph.nodes:
        if op_of(node) not in _LOSSES:
            continue
        scores = next(operands(graph, node), None)
        softmax = _softmax_behind(graph, scores) if scores is not None else None
        wanted = _class_dim(graph, scores, softmax) if scores is not None and softmax is not None else None
        if softmax is not None and wanted is not None and _differ(softmax, wanted):
            return softmax, wanted
    return None


def _softmax_behind(graph: LossGraph, scores: GraphNode) -> GraphNode | None:
    source = origin(graph, scores)
    if op_of(source) == "Log":
        inner = next(operands(graph, source), None)
        source = origin(graph, inner) if inner is not None else source
    return source if op_of(source) in ("LogSoftmax", "Softmax") and source.shape else None


def _class_dim(graph: LossGraph, scores: GraphNode, softmax: GraphNode) -> int | None:
    """Where the softmax's own shape holds what the loss takes for classes; None if it cannot be told."""
    if op_of(scores) not in SHAPE_ONLY and tuple(scores.shape) == tuple(softmax.shape):
        return 1 if len(softmax.shape) > 1 else None
    if op_of(scores) in ("View", "UnsafeView", "ReshapeAlias") and len(scores.shape) == 2:
        flattened = scores.shape[1] == softmax.shape[-1] and len(softmax.shape) > 2
        return len(softmax.shape) - 1 if flattened and _is_next(graph, scores, softmax) else None
    return None


def _is_next(graph: LossGraph, scores: GraphNode, softmax: GraphNode) -> bool:
    """One view, and nothing that moves dimensions about."""
    return next(operands(graph, scores), None) is softmax


def _differ(softmax: GraphNode, wanted: int) -> bool:
    """A square of similarities may be read along both dimensions, as contrastive losses do."""
    dim = _dim(softmax)
    return dim != wanted and softmax.shape[dim] != softmax.shape[wanted]


def _dim(softmax: GraphNode) -> int:
    dim = int(float(softmax.saved.get("dim", -1)))
    return dim + len(softmax.shape) if dim < 0 else dim
