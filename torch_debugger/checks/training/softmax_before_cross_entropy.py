"""TD501: a softmax too many in front of cross-entropy."""

from __future__ import annotations

import math

from torch_debugger.checks.graph import operands, origin
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.output_activation import output_activation
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph


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
        softmax = _double_softmax(graph)
        if softmax is None:
            return None
        extra = output_activation(graph, softmax, state)
        classes = softmax.shape[int(_dim(softmax))] if softmax.shape else 0
        loss = f" at {graph.place.file}:{graph.place.line}" if graph.place.file else ""
        return self.finding(
            severity="error",
            confidence=0.97,
            message=(
                f"The loss behind backward(){loss} applies log-softmax to the output of {extra.words}: "
                "the scores go through softmax twice."
            ),
            why=(
                "Cross-entropy contains a softmax of its own. Given probabilities between 0 and 1 it sees "
                f"scores that hardly differ: the gradients are small, and with {classes} classes the "
                f"cross-entropy cannot fall below {_floor(classes):.2f}."
            ),
            fix=(
                f"Remove {extra.words} and pass the raw scores to the loss; "
                "take softmax only to show probabilities."
            ),
            where=extra.where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={
                "chain": "LogSoftmax <- Softmax",
                "shape": str(tuple(softmax.shape)),
                "classes": float(classes),
                "lowest_loss": _floor(classes),
                "loss": graph.loss,
            },
            edit=extra.removal,
        )


def _double_softmax(graph: LossGraph) -> GraphNode | None:
    for node in graph.nodes:
        if op_of(node) == "LogSoftmax":
            for operand in operands(graph, node):
                made_by = origin(graph, operand)
                if op_of(made_by) == "Softmax":
                    return made_by
    return None


def _dim(softmax: GraphNode) -> float:
    dim = float(softmax.saved.get("dim", -1))
    return dim if -len(softmax.shape) <= dim < len(softmax.shape) else -1


def _floor(classes: int) -> float:
    """The loss of a sure and right model: scores 1 for its class, 0 for the others."""
    return math.log(math.e + max(0, classes - 1)) - 1.0
