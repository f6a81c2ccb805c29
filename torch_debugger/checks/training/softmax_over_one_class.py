"""TD514: a softmax over a single score, which is 1 whatever the score."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.graph import at, line_of, operands, origin
from torch_debugger.checks.graph_ops import nodes_with, numbers_by_op, op_of
from torch_debugger.checks.output_activation import output_activation
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph, Place, Record, WeightedSum

_LOSSES = ("BinaryCrossEntropy", "MseLoss", "SmoothL1Loss", "HuberLoss", "Log", "BinaryCrossEntropyWithLogits")


class SoftmaxOverOneClass(LossGraphCheck):
    """The model has one output, and a softmax over one number is always 1.

    Symptom:
        The loss is the same in every step, 0 with cross-entropy, and no weight changes.
    Evidence:
        The autograd graph of the loss: a softmax or log-softmax along a dimension of size 1. In the model:
        weights of attention that a softmax over one number made, used in a sum over many.
    Fix:
        For two classes with one output: `BCEWithLogitsLoss` and no softmax. For cross-entropy: as many
        outputs as classes. For a number to predict: `MSELoss`. For attention: the dimension that is summed.
    Known limits:
        Attention over a sequence of one, where the sum has one part as well, is left alone.
    """

    id = "TD514"
    name = "softmax-over-one-class"
    title = "a softmax over one output, which is always 1"
    explains = ("vanishing-gradient",)

    # A batch of one may meet a square of similarities that is 1 x 1.
    smallest_batch = 2
    reads = (LossGraph, WeightedSum)
    looks_needed = 2

    def __init__(self) -> None:
        super().__init__()
        self._weights: dict[str, list[WeightedSum]] = {}  # line -> looks at its softmax

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if not isinstance(record, WeightedSum):
            yield from super().see(record, state)
        elif record.shape[record.dim] == 1 and any(record.shape[dim] > 1 for dim in record.summed):
            looks = self._weights.setdefault(at(record.place), [])
            looks.append(record)
            if len(looks) == self.looks_needed:
                yield self._judge_weights(looks[0], state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        yield from super().finish(state)
        certain = [looks[0] for looks in self._weights.values() if len(looks) >= self.looks_needed]
        yield from (self._judge_weights(look, state) for look in certain)

    def _judge_weights(self, look: WeightedSum, state: RunState) -> Finding:
        wanted = max(look.summed, key=lambda dim: look.shape[dim])
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"The softmax{at(look.place)} runs over dim={look.dim} of {look.shape}, which holds one "
                f"number: every weight is 1, and the values they weigh are added up over dim={wanted}."
            ),
            why=(
                "A softmax divides by the sum over its dimension. Over one number that gives 1, so the scores "
                "are never learned and the sum takes all its parts alike."
            ),
            fix=f"Write `dim={wanted}` in place of `dim={look.dim}` in the softmax{at(look.place)}.",
            where=look.place,
            first_step=look.step,
            last_step=max(look.step, state.step),
            evidence={"shape": str(look.shape), "dim": float(look.dim), "summed_dim": float(wanted)},
        )

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        softmax = self._over_one(graph)
        if softmax is None:
            return None
        where = _where(graph, softmax, state)
        return self.finding(
            severity="error",
            confidence=0.97,
            message=(
                f"The loss{at(where)} takes a softmax over one score ({tuple(softmax.shape)}): the result is 1 "
                "whatever the model says, so no gradient flows."
            ),
            why=(
                "A softmax divides by the sum over all classes. With one class that is the score itself: the "
                "probability is 1 and its logarithm 0, for every input and every weight."
            ),
            fix=(
                "For two classes with one output use `nn.BCEWithLogitsLoss()` on the raw score, with targets 0 "
                "and 1 as floats; for cross-entropy give the last layer as many outputs as there are classes."
            ),
            where=where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"op": op_of(softmax), "shape": str(tuple(softmax.shape)), "loss": graph.loss},
        )

    def _over_one(self, graph: LossGraph) -> GraphNode | None:
        for node in _output_softmaxes(graph):
            dim = int(float(node.saved.get("dim", -1)))
            known = -len(node.shape) <= dim < len(node.shape)
            if known and node.shape[dim] == 1 and max(node.shape) >= self.smallest_batch:
                return node
        return None


def _output_softmaxes(graph: LossGraph) -> list[GraphNode]:
    """Log-softmaxes, and softmaxes that a loss takes as they are: attention is neither."""
    found = nodes_with(graph, ("LogSoftmax",))
    for node in nodes_with(graph, _LOSSES) if "Softmax" in numbers_by_op(graph) else ():
        sources = [origin(graph, operand) for operand in operands(graph, node)]
        found += [source for source in sources if op_of(source) == "Softmax"]
    return found


def _where(graph: LossGraph, softmax: GraphNode, state: RunState) -> Place:
    """The loss that takes log-softmax itself, or the softmax in the model."""
    if op_of(softmax) == "Softmax" or (softmax.place is not None and softmax.place.file):
        return output_activation(graph, softmax, state).where
    losses = nodes_with(graph, ("NllLoss", "NllLoss2D"))
    return line_of(graph, losses[0]) if losses else (graph.made if graph.made.file else graph.place)
