"""TD501: a softmax too many in front of cross-entropy."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import model_behind, op_of, operands, origin
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, GraphNode, LossGraph, ModuleFact, Place, Record


class SoftmaxBeforeCrossEntropy(Check):
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
    reads = (LossGraph,)

    def __init__(self) -> None:
        self._first: dict[str, tuple[LossGraph, GraphNode]] = {}  # site -> where it was first seen

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, LossGraph)
        if record.site in self._first:
            return
        softmax = _double_softmax(record)
        if softmax is not None:
            self._first[record.site] = (record, softmax)
            yield self._judge(record, softmax, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        """The same findings; by now the model is sure to be known, and the last step."""
        for graph, softmax in self._first.values():
            yield self._judge(graph, softmax, state)

    def _judge(self, graph: LossGraph, softmax: GraphNode, state: RunState) -> Finding:
        module = _softmax_module(graph, state)
        what = f"`{module.path}` (Softmax)" if module else "a softmax in the model"
        classes = softmax.shape[int(_dim(softmax))] if softmax.shape else 0
        loss = f" at {graph.place.file}:{graph.place.line}" if graph.place.file else ""
        return self.finding(
            severity="error",
            confidence=0.97,
            message=(
                f"The loss behind backward(){loss} applies log-softmax to the output of {what}: "
                "the scores go through softmax twice."
            ),
            why=(
                "Cross-entropy contains a softmax of its own. Given probabilities between 0 and 1 it sees "
                f"scores that hardly differ: the gradients are small, and with {classes} classes the loss "
                f"cannot fall below {_floor(classes):.2f}."
            ),
            fix=f"Remove {what} and pass the raw scores to the loss; take softmax only to show probabilities.",
            where=_where(graph, module, state),
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={
                "chain": "LogSoftmax <- Softmax",
                "shape": str(tuple(softmax.shape)),
                "classes": float(classes),
                "lowest_loss": _floor(classes),
                "loss": graph.loss,
            },
            edit=_edit(module),
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


def _softmax_module(graph: LossGraph, state: RunState) -> ModuleFact | None:
    """The model's last nn.Softmax in definition order; None where softmax is a function call."""
    model = model_behind(graph, state)
    found = [module for module in model.modules if module.kind == "Softmax"] if model else []
    return found[-1] if found else None


def _where(graph: LossGraph, module: ModuleFact | None, state: RunState) -> Place:
    if module is not None:
        return Place(module.place.file, module.place.line, module.path, module.place.code)
    model = model_behind(graph, state)
    if model is not None and model.forward.file:
        return Place(model.forward.file, model.forward.line, model.root, model.forward.code)
    return graph.place


def _edit(module: ModuleFact | None) -> Edit | None:
    place = module.place if module else Place()
    if place.file is None or place.line is None or not place.code:
        return None
    after, count = re.subn(r"\bSoftmax\([^()]*\)", "Identity()", place.code)
    return Edit(place.file, place.line, place.code, after) if count == 1 else None
