"""TD501: a softmax too many in front of cross-entropy."""

from __future__ import annotations

import ast
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
        what = f"`{module.path}` (Softmax)" if module else _call(softmax)
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
            where=_where(graph, softmax, module, state),
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={
                "chain": "LogSoftmax <- Softmax",
                "shape": str(tuple(softmax.shape)),
                "classes": float(classes),
                "lowest_loss": _floor(classes),
                "loss": graph.loss,
            },
            edit=_edit(softmax, module),
        )


def _call(softmax: GraphNode) -> str:
    place = softmax.place
    return f"the softmax at {place.file}:{place.line}" if place and place.file else "a softmax in the model"


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


def _where(graph: LossGraph, softmax: GraphNode, module: ModuleFact | None, state: RunState) -> Place:
    if module is not None:
        return Place(module.place.file, module.place.line, module.path, module.place.code)
    model = model_behind(graph, state)
    if softmax.place is not None:
        return Place(softmax.place.file, softmax.place.line, model.root if model else None, softmax.place.code)
    if model is not None and model.forward.file:
        return Place(model.forward.file, model.forward.line, model.root, model.forward.code)
    return graph.place


def _edit(softmax: GraphNode, module: ModuleFact | None) -> Edit | None:
    """Softmax() becomes Identity(); `softmax(scores, dim=1)` becomes `scores`."""
    place = module.place if module else softmax.place or Place()
    if place.file is None or place.line is None or not place.code:
        return None
    if module is not None:
        after, count = re.subn(r"\bSoftmax\([^()]*\)", "Identity()", place.code)
    else:
        after, count = _without_call(place.code)
    return Edit(place.file, place.line, place.code, after) if count == 1 else None


def _without_call(code: str) -> tuple[str, int]:
    """The line with its one softmax call replaced by the call's argument, and how many there were."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return code, 0
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_softmax(node.func)]
    after = code
    for call in calls:
        text = ast.get_source_segment(code, call)
        method = isinstance(call.func, ast.Attribute) and not _is_namespace(call.func.value)
        kept = (
            call.func.value if method and isinstance(call.func, ast.Attribute) else next(iter(call.args), None)
        )
        inside = ast.get_source_segment(code, kept) if kept is not None else None
        if text is None or inside is None:
            return code, 0
        after = after.replace(text, inside, 1)
    return after, len(calls)


def _is_softmax(function: ast.expr) -> bool:
    return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) == "softmax"


def _is_namespace(value: ast.expr) -> bool:
    """torch.softmax, F.softmax, nn.functional.softmax; not x.softmax"""
    return ast.unparse(value) in (
        "torch",
        "F",
        "nn.functional",
        "torch.nn.functional",
        "functional",
        "torch.special",
    )
