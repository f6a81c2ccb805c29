"""Losses that want log-probabilities, and are given something else."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line, nodes_with, numbers_by_op, op_of
from torch_debugger.checks.call_edits import replace_in_line
from torch_debugger.checks.loss_graph import (
    LossGraphCheck,
    dim_of,
    fed_by,
    first_operand,
    line_of,
    operands,
    origin,
    output_activation,
)
from torch_debugger.records import AutogradNode, ClassTargets, Edit, Finding, LossGraph, Place, Record

_MADE_OF = {
    "Addmm": "raw scores", "Mm": "raw scores", "Bmm": "raw scores", "Convolution": "raw scores",
    "Add": "raw scores", "Relu": "raw scores", "Softmax": "probabilities", "Sigmoid": "probabilities",
}  # fmt: skip


_ENDINGS = {  # how it ends, and what to do
    "raw scores": (
        "the loss falls as long as the right score grows, and nothing pushes the others down",
        "Use `cross_entropy` (`nn.CrossEntropyLoss`) in place of nll_loss; or give it `log_softmax(scores, dim=1)`.",
    ),
    "probabilities": (
        "the gradient of a wrong answer is as good as zero, and no loss is lower than -1",
        "Give the loss log-probabilities: `log_softmax` in place of the softmax; or remove the softmax and "
        "use `cross_entropy` (`nn.CrossEntropyLoss`), which takes raw scores.",
    ),
}


class NllOnRawLogits(Check):
    """`nll_loss` is given raw scores or probabilities, where it expects log-probabilities.

    Symptom:
        The loss is negative and falls without end (raw scores), or creeps from near zero to -1
        (probabilities).
    Evidence:
        The autograd graph: the negative log-likelihood takes the output of a linear layer, a convolution or a
        softmax. And its values: log-probabilities of a sample add up to 1, so log(sum(exp)) is 0.
    Fix:
        Use `cross_entropy`, which takes raw scores, or put `log_softmax(scores, dim=1)` in front of it.
    Known limits:
        Scores from other ops are not judged, nor a loss that adds its own logsumexp.
    """

    id = "TD512"
    name = "nll-on-raw-logits"
    title = "nll_loss gets scores or probabilities, not log-probabilities"
    reads = (LossGraph, ClassTargets)
    explains = ("loss-not-finite", "lr-too-high", "overflow-ahead", "softmax-before-cross-entropy")

    # Of log(sum(exp)) over a sample's classes, the lowest over all samples: 0 for log-probabilities, and not
    # above 0.05 for those of half precision or with an epsilon in them; ln 2 for two scores near zero.
    clearly_above_zero = 0.3

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}
        self._targets: dict[str, ClassTargets] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, ClassTargets) and record.lowest_sum > self.clearly_above_zero:
            self._targets.setdefault(record.site, record)
        return self.finish(state) if isinstance(record, LossGraph) else ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        for site, graph in self._graphs.items():
            found = next(fed_by(graph, ("NllLoss", "NllLoss2D"), _MADE_OF), None)
            if site in self._targets and found is not None and "Logsumexp" not in numbers_by_op(graph):
                yield self._judge(graph, self._targets[site], *found, state)

    def _judge(
        self, graph: LossGraph, targets: ClassTargets, loss: AutogradNode, source: AutogradNode, state: RunState
    ) -> Finding:
        what, where = _MADE_OF[op_of(source)], line_of(graph, loss)
        ending, fix = _ENDINGS[what]
        return self.finding(
            severity="error",
            confidence=0.96,
            message=f"The negative log-likelihood{at_line(where)} is given {what} where it expects log-probabilities: "
            f"log(sum(exp)) of a sample is between {targets.lowest_sum:.2f} and {targets.highest_sum:.2f}, not 0.",
            why=f"nll_loss only picks the value of the right class and turns its sign: {ending}.",
            fix=fix,
            where=where,
            steps=(targets.step, max(targets.step, state.step)),
            evidence={
                "chain": f"{op_of(loss)} <- {op_of(source)}",
                "lowest_log_sum_exp": targets.lowest_sum,
                "highest_log_sum_exp": targets.highest_sum,
                "loss": graph.loss,
            },
        )


class LogSoftmaxTwice(LossGraphCheck):
    """Cross-entropy gets log-probabilities, of which it takes the log-softmax once more.

    Symptom:
        None in the loss: a second log-softmax over the same dimension changes nothing. It costs a pass over all
        scores, and hides which loss the model was written for.
    Evidence:
        The autograd graph of the loss: LogSoftmax whose input is the output of LogSoftmax over the same
        dimension, with nothing between them but changes of shape or dtype.
    Fix:
        Use `nll_loss` with the log-probabilities, or remove the log-softmax and keep `cross_entropy`.
    Known limits:
        A note and no more. Over different dimensions it is an error: see softmax-wrong-dim.
    """

    id = "TD528"
    name = "log-softmax-twice"
    title = "log-softmax is taken in the model and again in the loss"

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        pairs = fed_by(graph, ("LogSoftmax",), ("LogSoftmax",))
        same = (inner for outer, inner in pairs if inner.shape == outer.shape and dim_of(inner) == dim_of(outer))
        inner = next(same, None)
        if inner is None:
            return None
        extra = output_activation(graph, inner, state)
        return self.finding(
            severity="note",
            confidence=0.95,
            message=f"The loss behind backward(){at_line(graph.place)} takes the log-softmax of {extra.words} a second "
            "time; the loss is the same without it.",
            why="Log-probabilities already add up to 1, so a second log-softmax gives them back as they are.",
            fix=f"Remove {extra.words} and pass raw scores to the loss, or call `nll_loss` instead.",
            where=extra.where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={"chain": "LogSoftmax <- LogSoftmax", "shape": str(tuple(inner.shape)), "loss": graph.loss},
            edit=extra.removal,
        )


_REDUCING = ("Mean", "Sum", "Div", "Mul")


class KlDivOnProbabilities(LossGraphCheck):
    """`kl_div` is given probabilities as its first argument, where it expects log-probabilities.

    Symptom:
        The loss is negative or can become so, and the model learns to be sure of itself instead of learning
        the target's distribution.
    Evidence:
        The autograd graph: what `kl_div` computes, target * log(target) - target * input, with the output of
        a softmax as the input.
    Fix:
        `F.kl_div(F.log_softmax(scores, dim=-1), target)`. Only the second argument is a probability.
    Known limits:
        Seen where the target needs no gradient, as in distillation.
    """

    id = "TD515"
    name = "kl-div-on-probabilities"
    title = "kl_div gets probabilities, not log-probabilities"

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        softmax = _input_of_kl_div(graph)
        if softmax is None:
            return None
        given = output_activation(graph, softmax, state)
        # The model's own softmax; else the loss, since the last softmax above it may be the target's.
        where = given.where if given.module is not None or not graph.made.file else graph.made
        return self.finding(
            severity="error",
            confidence=0.93,
            message=f"The Kullback-Leibler divergence in the loss{at_line(where)} is given the output of a softmax as "
            "its input, where it expects log-probabilities.",
            why="kl_div multiplies the target with its input as it is. With probabilities there, the loss is "
            "lowest when all mass lies on the target's largest class, not when the two distributions agree.",
            fix="Use `log_softmax` in place of `softmax` for the input of kl_div; the target stays as it is.",
            where=where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={"chain": "Sub <- Mul <- Softmax", "shape": str(tuple(softmax.shape)), "loss": graph.loss},
            edit=_edit(where),
        )


def _input_of_kl_div(graph: LossGraph) -> AutogradNode | None:
    """constant - constant * softmax(...), element by element, then reduced: the form that kl_div has."""
    if not numbers_by_op(graph).keys() >= {"Sub", "Softmax"}:
        return None
    for above in nodes_with(graph, _REDUCING):
        for node in operands(graph, above):
            product = first_operand(graph, node) if op_of(node) == "Sub" and node.inputs[:1] == (None,) else None
            if product is None or tuple(product.shape) != tuple(node.shape):
                continue
            by_constant = op_of(product) == "Mul" and None in product.inputs and "factor" not in product.saved
            source = origin(graph, first_operand(graph, product)) if by_constant else None
            if source is not None and op_of(source) == "Softmax":
                return source
    return None


def _edit(where: Place) -> Edit | None:
    code = where.code or ""
    for before, after in (("Softmax(", "LogSoftmax("), ("softmax(", "log_softmax(")):
        if code.count(before) == 1 and after not in code:
            return replace_in_line(where, before, after)
    return None
