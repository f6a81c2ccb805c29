"""TD513: probabilities that add up to 1 over the batch, or the sequence, and not over the classes."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.graph import SHAPE_ONLY, at, operands, origin
from torch_debugger.checks.graph_ops import nodes_with, op_of
from torch_debugger.checks.output_activation import output_activation
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph, Place, Record, WeightedSum

_LOSSES = ("NllLoss", "NllLoss2D")


class SoftmaxWrongDim(LossGraphCheck):
    """The softmax in front of the loss runs over another dimension than the classes.

    Symptom:
        The loss falls below what the model deserves or stays high, accuracy is poor, and a sample's answer
        depends on the other samples of its batch.
    Evidence:
        The autograd graph: the negative log-likelihood picks classes along one dimension, and the log-softmax
        (or softmax and log) that feeds it was taken along another one. Or, in attention: weights that add up to
        1 over the batch, the heads or the queries are used in a sum over something else.
    Fix:
        `dim=1` for scores of (batch, classes), `dim=-1` for (batch, length, classes) and for attention.
    Known limits:
        The loss must pick its classes by `nll_loss` or `gather`, with nothing but views between it and the
        softmax. If the scores were permuted, or both dimensions have one size, nothing is said. Weights that
        are normalised again, as in slot attention, are left alone.
    """

    id = "TD513"
    name = "softmax-wrong-dim"
    title = "softmax runs over the batch, not over the classes"
    explains = ("loss-not-finite", "nll-on-raw-logits")
    reads = (LossGraph, WeightedSum)

    def __init__(self) -> None:
        super().__init__()
        self._weights: dict[tuple[int, str], WeightedSum] = {}  # (dim, line) -> where it was first seen

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if not isinstance(record, WeightedSum):
            yield from super().see(record, state)
        elif (over := _wrongly_over(record)) and self._is_new(record):
            yield self._judge_weights(record, over, state)

    def _is_new(self, look: WeightedSum) -> bool:
        key = (look.dim, at(look.place))
        return self._weights.setdefault(key, look) is look

    def finish(self, state: RunState) -> Iterable[Finding]:
        yield from super().finish(state)
        for look in self._weights.values():
            yield self._judge_weights(look, _wrongly_over(look), state)

    def _judge_weights(self, look: WeightedSum, over: str, state: RunState) -> Finding:
        wanted = max(look.summed, key=lambda dim: look.shape[dim])
        where = look.place if look.place.file else _forward(state)
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"The weights of the softmax{at(look.place)} add up to 1 over {over} (dim={look.dim}) of "
                f"{look.shape}, but the values they weigh are added up over dim={wanted}."
            ),
            why=(
                f"The weights of one sum compete with those of other sums, not with each other: how much they "
                f"add up to is left to chance, and what one sample gets depends on {over}."
            ),
            fix=f"Write `dim={wanted}` in place of `dim={look.dim}` in the softmax{at(look.place)}.",
            where=where,
            first_step=look.step,
            last_step=max(look.step, state.step),
            evidence={"shape": str(look.shape), "dim": float(look.dim), "summed_dim": float(wanted)},
        )

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


def _wrongly_over(look: WeightedSum) -> str:
    """What the weights add up to 1 over, in words; empty where that may be meant."""
    rank, dim = len(look.shape), look.dim
    if not look.summed or look.shape[dim] < 2 or max(look.shape[each] for each in look.summed) < 2:
        return ""
    if look.of_pairs and rank > 2:
        if dim < rank - 2:
            return "the batch" if dim == 0 else "the heads"
        # As many queries as keys: self-attention, where clusters that share out their points have other sizes.
        return "the queries" if dim == rank - 2 and look.shape[-1] == look.shape[-2] else ""
    square = rank == 2 and look.shape[0] == look.shape[1]
    return "the batch" if dim == 0 and look.samples_first and not square else ""


def _forward(state: RunState) -> Place:
    return next((model.forward for model in state.models.values() if model.forward.file), Place())


def _mismatch(graph: LossGraph) -> tuple[GraphNode, int] | None:
    """The softmax and the dimension that holds its classes, where these differ."""
    for node in nodes_with(graph, (*_LOSSES, "Gather", "Index", "LogSoftmax")):
        scores = next(operands(graph, node), None)
        if scores is None:
            continue
        softmax = _softmax_behind(graph, scores)
        wanted = _picked_along(graph, node, scores, softmax) if softmax is not None else None
        if softmax is not None and wanted is not None and _differ(softmax, wanted):
            return softmax, wanted
    return None


def _picked_along(graph: LossGraph, node: GraphNode, scores: GraphNode, softmax: GraphNode) -> int | None:
    if op_of(node) in _LOSSES:
        return _class_dim(graph, scores, softmax)
    if scores is not softmax or op_of(softmax) != "LogSoftmax":
        return None
    rank = len(softmax.shape)
    if op_of(node) == "LogSoftmax":  # that of cross_entropy itself
        return _dim(node)
    if op_of(node) == "Gather":
        return int(float(node.saved["dim"])) % rank if "dim" in node.saved else None
    # log_probs[range(n), targets]: one of each row
    return 1 if rank == 2 and tuple(node.shape) == tuple(softmax.shape[:1]) else None


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
