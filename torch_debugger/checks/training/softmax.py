"""Softmax: twice, over the wrong dimension, or over a single score."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable

from torch_debugger.checks.base import RunState, at_line, nodes_with, numbers_by_op, op_of
from torch_debugger.checks.loss_graph import (
    SHAPE_ONLY,
    LossGraphCheck,
    dim_of,
    fed_by,
    first_operand,
    line_of,
    operands,
    origin,
    output_activation,
)
from torch_debugger.records import AutogradNode, Finding, LossGraph, Place, Record, WeightedSum


class SoftmaxBeforeCrossEntropy(LossGraphCheck):
    """The loss applies log-softmax to values that already went through a softmax.

    Symptom:
        Training works, but slowly, and the loss stops far above zero: with 10 classes it cannot fall
        below 1.46, however sure the model is.
    Evidence:
        The autograd graph of the loss: LogSoftmax whose input is the output of Softmax, with nothing
        between them but changes of shape or dtype.
    Fix:
        Remove the softmax. `CrossEntropyLoss` takes raw scores (logits) and applies log-softmax itself.
        For probabilities at test time, call softmax outside the model.
    Known limits:
        A softmax whose output is changed by other ops before the loss (scaled, added to) is not
        reported. Inside compiled or custom autograd functions the graph does not show single ops.
    """

    id = "TD501"
    name = "softmax-before-cross-entropy"
    title = "softmax is applied twice: in the model and in the loss"

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        _, softmax = next(fed_by(graph, ("LogSoftmax",), ("Softmax",)), (None, None))
        if softmax is None:
            return None
        extra = output_activation(graph, softmax, state)
        classes = softmax.shape[dim_of(softmax)] if softmax.shape else 0
        # The loss of a sure and right model: scores 1 for its class, 0 for the others.
        floor = math.log(math.e + max(0, classes - 1)) - 1.0
        return self.finding(
            severity="error",
            confidence=0.97,
            message=f"The loss behind backward(){at_line(graph.place)} applies log-softmax to the output of "
            f"{extra.words}: the scores go through softmax twice.",
            why="Cross-entropy contains a softmax of its own. Given probabilities between 0 and 1 it sees "
            f"scores that hardly differ: the gradients are small, and with {classes} classes the "
            f"cross-entropy cannot fall below {floor:.2f}.",
            fix=f"Remove {extra.words} and pass the raw scores to the loss; take softmax only to show probabilities.",
            where=extra.where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={
                "chain": "LogSoftmax <- Softmax",
                "shape": str(tuple(softmax.shape)),
                "classes": float(classes),
                "lowest_loss": floor,
                "loss": graph.loss,
            },
            edit=extra.removal,
        )


_LOSSES = ("NllLoss", "NllLoss2D")


class _SoftmaxCheck(LossGraphCheck):
    """Judges the softmax of a loss by its graph, and one in the model by the sum that its weights are used in."""

    reads = (LossGraph, WeightedSum)

    looks_needed = 1

    def __init__(self) -> None:
        super().__init__()
        self._weights: dict[tuple[int, str], list[WeightedSum]] = {}  # (dim, line) -> the first looks at its softmax

    @abc.abstractmethod
    def fault_of(self, look: WeightedSum, state: RunState) -> tuple[str, str, Place] | None:
        """Message, why and where, if something is wrong; the fix is the same for all."""

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if not isinstance(record, WeightedSum):
            yield from super().see(record, state)
        elif self.fault_of(record, state) is not None:
            looks = self._weights.setdefault((record.dim, at_line(record.place)), [])
            if len(looks) < self.looks_needed:
                looks.append(record)
                if len(looks) == self.looks_needed:
                    yield from self._judge_weights(looks[0], state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        yield from super().finish(state)
        for looks in self._weights.values():
            if len(looks) == self.looks_needed:
                yield from self._judge_weights(looks[0], state)

    def _judge_weights(self, look: WeightedSum, state: RunState) -> Iterable[Finding]:
        if (fault := self.fault_of(look, state)) is not None:
            message, why, where = fault
            wanted = _summed_dim(look)
            yield self.finding(
                severity="error",
                confidence=0.93,
                message=message,
                why=why,
                fix=f"Write `dim={wanted}` in place of `dim={look.dim}` in the softmax{at_line(look.place)}.",
                where=where,
                steps=(look.step, max(look.step, state.step)),
                evidence={"shape": str(look.shape), "dim": float(look.dim), "summed_dim": float(wanted)},
            )


def _summed_dim(look: WeightedSum) -> int:
    return max(look.summed, key=lambda dim: look.shape[dim])


class SoftmaxWrongDim(_SoftmaxCheck):
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

    def fault_of(self, look: WeightedSum, state: RunState) -> tuple[str, str, Place] | None:
        over = _wrongly_over(look)
        if not over:
            return None
        forward = next((model.forward for model in state.models.values() if model.forward.file), Place())
        return (
            f"The weights of the softmax{at_line(look.place)} add up to 1 over {over} (dim={look.dim}) of "
            f"{look.shape}, but the values they weigh are added up over dim={_summed_dim(look)}.",
            "The weights of one sum compete with those of other sums, not with each other: how much they "
            f"add up to is left to chance, and what one sample gets depends on {over}.",
            look.place if look.place.file else forward,
        )

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        found = _mismatch(graph)
        if found is None:
            return None
        softmax, wanted = found
        shape, dim = softmax.shape, dim_of(softmax)
        place = output_activation(graph, softmax, state)
        over = "the batch" if dim == 0 else f"dimension {dim}"
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"The {place.function}{at_line(place.where)} runs over {over} (dim={dim}) of {tuple(shape)}, but "
            f"the loss picks one of {shape[wanted]} classes along dim={wanted}.",
            why="Scores of different samples compete with each other, and those of one sample do not: its "
            "probabilities do not add up to 1, so a model can lower the loss for all classes at once.",
            fix=f"Write `dim={wanted}` in place of `dim={dim}` in {place.words}.",
            where=place.where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={"shape": str(tuple(shape)), "dim": float(dim), "class_dim": float(wanted), "loss": graph.loss},
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


def _mismatch(graph: LossGraph) -> tuple[AutogradNode, int] | None:
    """The softmax and the dimension that holds its classes, where these differ."""
    for node in nodes_with(graph, (*_LOSSES, "Gather", "Index", "LogSoftmax")):
        scores = first_operand(graph, node)
        softmax = origin(graph, scores)
        if softmax is not None and op_of(softmax) == "Log":
            softmax = origin(graph, first_operand(graph, softmax))
        if scores is None or softmax is None or op_of(softmax) not in ("LogSoftmax", "Softmax") or not softmax.shape:
            continue
        wanted, dim = _picked_along(graph, node, scores, softmax), dim_of(softmax)
        # A square of similarities may be read along both dimensions, as contrastive losses do.
        if wanted is not None and dim != wanted and softmax.shape[dim] != softmax.shape[wanted]:
            return softmax, wanted
    return None


def _picked_along(graph: LossGraph, node: AutogradNode, scores: AutogradNode, softmax: AutogradNode) -> int | None:
    if op_of(node) in _LOSSES:
        return _class_dim(graph, scores, softmax)
    if scores is not softmax or op_of(softmax) != "LogSoftmax":
        return None
    rank = len(softmax.shape)
    if op_of(node) == "LogSoftmax":  # that of cross_entropy itself
        return dim_of(node)
    if op_of(node) == "Gather":
        return int(float(node.saved["dim"])) % rank if "dim" in node.saved else None
    # log_probs[range(n), targets]: one of each row
    return 1 if rank == 2 and tuple(node.shape) == tuple(softmax.shape[:1]) else None


def _class_dim(graph: LossGraph, scores: AutogradNode, softmax: AutogradNode) -> int | None:
    """Where the softmax's own shape holds what the loss takes for classes; None if it cannot be told."""
    if op_of(scores) not in SHAPE_ONLY and tuple(scores.shape) == tuple(softmax.shape):
        return 1 if len(softmax.shape) > 1 else None
    if op_of(scores) in ("View", "UnsafeView", "ReshapeAlias") and len(scores.shape) == 2:
        flattened = scores.shape[1] == softmax.shape[-1] and len(softmax.shape) > 2
        # One view, and nothing that moves dimensions about.
        return len(softmax.shape) - 1 if flattened and first_operand(graph, scores) is softmax else None
    return None


_TAKE_PROBABILITIES = (
    "BinaryCrossEntropy", "MseLoss", "SmoothL1Loss", "HuberLoss", "Log", "BinaryCrossEntropyWithLogits",
)  # fmt: skip


class SoftmaxOverOneClass(_SoftmaxCheck):
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
    looks_needed = 2

    def fault_of(self, look: WeightedSum, state: RunState) -> tuple[str, str, Place] | None:
        if look.shape[look.dim] != 1 or all(look.shape[dim] <= 1 for dim in look.summed):
            return None
        return (
            f"The softmax{at_line(look.place)} runs over dim={look.dim} of {look.shape}, which holds one "
            f"number: every weight is 1, and the values they weigh are added up over dim={_summed_dim(look)}.",
            "A softmax divides by the sum over its dimension. Over one number that gives 1, so the scores "
            "are never learned and the sum takes all its parts alike.",
            look.place,
        )

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        # Log-softmaxes, and softmaxes that a loss takes as they are: attention is neither.
        found = nodes_with(graph, ("LogSoftmax",))
        for node in nodes_with(graph, _TAKE_PROBABILITIES) if "Softmax" in numbers_by_op(graph) else ():
            sources = [origin(graph, operand) for operand in operands(graph, node)]
            found += [source for source in sources if source is not None and op_of(source) == "Softmax"]
        over_one = (node for node in found if node.shape and node.shape[dim_of(node)] == 1)
        softmax = next((node for node in over_one if max(node.shape) >= self.smallest_batch), None)
        if softmax is None:
            return None
        where = _where(graph, softmax, state)
        return self.finding(
            severity="error",
            confidence=0.97,
            message=f"The loss{at_line(where)} takes a softmax over one score ({tuple(softmax.shape)}): the result is "
            "1 whatever the model says, so no gradient flows.",
            why="A softmax divides by the sum over all classes. With one class that is the score itself: the "
            "probability is 1 and its logarithm 0, for every input and every weight.",
            fix="For two classes with one output use `nn.BCEWithLogitsLoss()` on the raw score, with targets 0 "
            "and 1 as floats; for cross-entropy give the last layer as many outputs as there are classes.",
            where=where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={"op": op_of(softmax), "shape": str(tuple(softmax.shape)), "loss": graph.loss},
        )


def _where(graph: LossGraph, softmax: AutogradNode, state: RunState) -> Place:
    """The loss that takes log-softmax itself, or the softmax in the model."""
    if op_of(softmax) == "Softmax" or (softmax.place is not None and softmax.place.file):
        return output_activation(graph, softmax, state).where
    losses = nodes_with(graph, _LOSSES)
    return line_of(graph, losses[0]) if losses else (graph.made if graph.made.file else graph.place)
