"""TD515: kl_div given probabilities where it wants their logarithms."""

from __future__ import annotations

from torch_debugger.checks.graph import at, operands, origin
from torch_debugger.checks.graph_ops import nodes_with, numbers_by_op, op_of
from torch_debugger.checks.output_activation import output_activation
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, GraphNode, LossGraph, Place

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
        softmax = _softmax_in_kl_div(graph)
        if softmax is None:
            return None
        where = _where(graph, softmax, state)
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"The Kullback-Leibler divergence in the loss{at(where)} is given the output of a softmax as "
                "its input, where it expects log-probabilities."
            ),
            why=(
                "kl_div multiplies the target with its input as it is. With probabilities there, the loss is "
                "lowest when all mass lies on the target's largest class, not when the two distributions agree."
            ),
            fix="Use `log_softmax` in place of `softmax` for the input of kl_div; the target stays as it is.",
            where=where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"chain": "Sub <- Mul <- Softmax", "shape": str(tuple(softmax.shape)), "loss": graph.loss},
            edit=_edit(where),
        )


def _softmax_in_kl_div(graph: LossGraph) -> GraphNode | None:
    """constant - constant * softmax(...), element by element, then reduced: the form that kl_div has."""
    if not numbers_by_op(graph).keys() >= {"Sub", "Softmax"}:
        return None
    for above in nodes_with(graph, _REDUCING):
        for node in operands(graph, above):
            if op_of(node) != "Sub" or node.inputs[:1] != (None,):
                continue
            product = next(operands(graph, node), None)
            softmax = _softmax_factor(graph, product) if product is not None else None
            if softmax is not None and tuple(product.shape if product else ()) == tuple(node.shape):
                return softmax
    return None


def _softmax_factor(graph: LossGraph, product: GraphNode) -> GraphNode | None:
    if op_of(product) != "Mul" or None not in product.inputs or "factor" in product.saved:
        return None
    source = next(operands(graph, product), None)
    made_by = origin(graph, source) if source is not None else None
    return made_by if made_by is not None and op_of(made_by) == "Softmax" else None


def _where(graph: LossGraph, softmax: GraphNode, state: RunState) -> Place:
    """The model's own softmax; else the loss, since the last softmax above it may be the target's."""
    given = output_activation(graph, softmax, state)
    return given.where if given.module is not None or not graph.made.file else graph.made


def _edit(where: Place) -> Edit | None:
    if where.file is None or where.line is None or not where.code:
        return None
    for before, after in (("Softmax(", "LogSoftmax("), ("softmax(", "log_softmax(")):
        if where.code.count(before) == 1 and after not in where.code:
            return Edit(where.file, where.line, where.code, where.code.replace(before, after))
    return None
