"""TD510: a sigmoid too many in front of binary cross-entropy with logits."""

from __future__ import annotations

from torch_debugger.checks.graph import operands, origin
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.output_activation import output_activation
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph


class SigmoidBeforeBceWithLogits(LossGraphCheck):
    """Binary cross-entropy with logits is given probabilities: the scores go through a sigmoid twice.

    Symptom:
        Training is slow and the loss stops far above zero: sure answers cost 0.31 for a 1 and 0.69 for a 0.
    Evidence:
        The autograd graph of the loss: BinaryCrossEntropyWithLogits whose input is the output of Sigmoid,
        with nothing between them but changes of shape or dtype.
    Fix:
        Remove the sigmoid, or keep it and use `BCELoss`. The form with logits is the more accurate one.
    Known limits:
        A sigmoid whose output is changed by other ops before the loss is not reported. Inside compiled or
        custom autograd functions the graph does not show single ops.
    """

    id = "TD510"
    name = "sigmoid-before-bce-with-logits"
    title = "sigmoid is applied twice: in the model and in the loss"

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        sigmoid = _double_sigmoid(graph)
        if sigmoid is None:
            return None
        extra = output_activation(graph, sigmoid, state)
        loss = f" at {graph.place.file}:{graph.place.line}" if graph.place.file else ""
        return self.finding(
            severity="error",
            confidence=0.97,
            message=(
                f"The loss behind backward(){loss} takes the output of {extra.words} for logits: "
                "the scores go through a sigmoid twice."
            ),
            why=(
                "Binary cross-entropy with logits contains a sigmoid of its own. Given values between 0 and 1 "
                "it sees probabilities between 0.5 and 0.73, so even a sure and right model cannot get the "
                "loss below 0.31 for a 1 and 0.69 for a 0."
            ),
            fix=(
                f"Remove {extra.words} and pass the raw scores to the loss; "
                "take sigmoid only to show probabilities."
            ),
            where=extra.where,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={
                "chain": "BinaryCrossEntropyWithLogits <- Sigmoid",
                "shape": str(tuple(sigmoid.shape)),
                "loss": graph.loss,
            },
            edit=extra.removal,
        )


def _double_sigmoid(graph: LossGraph) -> GraphNode | None:
    for node in graph.nodes:
        if op_of(node) == "BinaryCrossEntropyWithLogits":
            prediction = next(operands(graph, node), None)
            made_by = origin(graph, prediction) if prediction is not None else None
            if made_by is not None and op_of(made_by) == "Sigmoid":
                return made_by
    return None
