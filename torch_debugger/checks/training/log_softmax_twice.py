"""TD528: a log-softmax in front of a loss that takes its own."""

from __future__ import annotations

from torch_debugger.checks.graph import operands, origin
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.output_activation import output_activation
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph


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
        inner = _taken_twice(graph)
        if inner is None:
            return None
        extra = output_activation(graph, inner, state)
        loss = f" at {graph.place.file}:{graph.place.line}" if graph.place.file else ""
        return self.finding(
            severity="note",
            confidence=0.95,
            message=(
                f"The loss behind backward(){loss} takes the log-softmax of {extra.words} a second time; the "
                "loss is the same without it."
            ),
            why="Log-probabilities already add up to 1, so a second log-softmax gives them back as they are.",
            fix=f"Remove {extra.words} and pass raw scores to the loss, or call `nll_loss` instead.",
            where=extra.where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={
                "chain": "LogSoftmax <- LogSoftmax",
                "shape": str(tuple(inner.shape)),
                "loss": graph.loss,
            },
            edit=extra.removal,
        )


def _taken_twice(graph: LossGraph) -> GraphNode | None:
    for node in graph.nodes:
        if op_of(node) == "LogSoftmax":
            for operand in operands(graph, node):
                made_by = origin(graph, operand)
                same = made_by.shape == node.shape and _dim(made_by) == _dim(node)
                if op_of(made_by) == "LogSoftmax" and same:
                    return made_by
    return None


def _dim(node: GraphNode) -> int:
    dim = int(float(node.saved.get("dim", -1)))
    return dim % len(node.shape) if node.shape else dim
