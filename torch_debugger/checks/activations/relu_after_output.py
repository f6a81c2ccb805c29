"""TD310: a ReLU behind the last layer, where the loss needs scores below zero."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import origin, prediction_in
from torch_debugger.checks.graph_ops import nodes_with, numbers_by_op, op_of
from torch_debugger.checks.output_activation import OutputActivation, output_activation
from torch_debugger.checks.state import RunState
from torch_debugger.records import Comparison, Edit, Finding, GraphNode, LossGraph, Place, Record

_SCORES = {"LogSoftmax": "cross-entropy", "BinaryCrossEntropyWithLogits": "binary cross-entropy on logits"}
_DISTANCES = {
    "MseLoss": "the squared error", "L1Loss": "the absolute error", "SmoothL1Loss": "the smooth L1 loss",
    "HuberLoss": "the Huber loss", "Pow": "the squared error", "Abs": "the absolute error",
}  # fmt: skip


class ReluAfterOutput(Check):
    """The model ends in a ReLU, so it cannot give the values below zero that the loss asks for.

    Symptom:
        The loss falls and then stands still too high; a part of the outputs is exactly 0 and stays there.
    Evidence:
        The autograd graph of the loss: what cross-entropy, binary cross-entropy on logits or an error measure
        takes is the output of a ReLU, with nothing between them but changes of shape. For an error measure the
        targets themselves lie below zero.
    Fix:
        Remove the activation after the last layer.
    Known limits:
        Of losses written by hand, squares and absolute values of differences are recognised. Targets that are
        never negative in the batches looked at make a ReLU as the output a choice.
    """

    id = "TD310"
    name = "relu-after-output"
    title = "the model ends in a ReLU where the loss needs values below zero"
    reads = (LossGraph, Comparison)
    explains = ("dead-relu", "vanishing-gradient")

    # Share of negative targets: a few may be noise around zero.
    smallest_share = 0.1

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}
        self._told: set[str] = set()
        self._negative: dict[str, Comparison] = {}  # site -> a comparison with targets below zero

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, Comparison) and record.below_zero >= self.smallest_share:
            self._negative.setdefault(record.site, record)
        else:
            return
        finding = self._find(self._graphs.get(record.site), state) if record.site not in self._told else None
        if finding is not None:
            self._told.add(record.site)
            yield finding

    def finish(self, state: RunState) -> Iterable[Finding]:
        """The same findings; by now the last step is known."""
        found = [self._find(self._graphs[site], state) for site in sorted(self._told)]
        return [finding for finding in found if finding is not None]

    def _find(self, graph: LossGraph | None, state: RunState) -> Finding | None:
        if graph is None or "Relu" not in numbers_by_op(graph):
            return None
        for taker in nodes_with(graph, (*_SCORES, *_DISTANCES)):
            relu = _rectified(graph, taker)
            needs = self._needs(graph, taker) if relu is not None else None
            if relu is not None and needs is not None:
                return self._judge(graph, output_activation(graph, relu, state), needs, state)
        return None

    def _needs(self, graph: LossGraph, taker: GraphNode) -> str | None:
        """Why the loss wants negative values, in words; None where it may not."""
        op = op_of(taker)
        if op in _SCORES:
            return f"{_SCORES[op]}, which needs scores of either sign"
        told = self._negative.get(graph.site)
        if op not in _DISTANCES or told is None:
            return None
        return f"{_DISTANCES[op]} to targets of which {told.below_zero:.0%} lie below 0"

    def _judge(self, graph: LossGraph, extra: OutputActivation, needs: str, state: RunState) -> Finding:
        place = _line(extra)
        after = _without(place.code or "", extra, state) if extra.node.place else None
        return self.finding(
            severity="error",
            confidence=0.9,
            message=f"The model's output goes through a ReLU into {needs}: it can never be negative.",
            why=(
                "Where the layer in front gives a negative value the ReLU makes it 0 and passes no gradient "
                "back, so exactly the outputs that should go down cannot be corrected."
            ),
            fix=(
                f"Write `{after}`: the last layer's output goes to the loss as it is."
                if after
                else "Leave out the ReLU after the last layer: its output goes to the loss as it is."
            ),
            where=place,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"chain": "loss <- Relu", "shape": str(extra.node.shape), "loss": graph.loss},
            edit=_edit(place, after),
        )


def _rectified(graph: LossGraph, taker: GraphNode) -> GraphNode | None:
    """The ReLU whose output this node takes as its first operand."""
    taken = prediction_in(graph, taker)
    made = origin(graph, taken) if taken is not None else None
    return made if made is not None and op_of(made) == "Relu" else None


def _edit(place: Place, after: str | None) -> Edit | None:
    if place.file is None or place.line is None or after is None:
        return None
    return Edit(place.file, place.line, place.code or "", after)


def _line(extra: OutputActivation) -> Place:
    """Where forward returns it, else where the module is made."""
    found = extra.node.place
    return found if found is not None and found.file else extra.where


def _without(code: str, extra: OutputActivation, state: RunState) -> str | None:
    """`return self.act(self.out(x))` -> `return self.out(x)`"""
    root = extra.model.root if extra.model else ""
    try:
        calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return None
    for call in calls:
        module = state.module(f"{root}.{ast.unparse(call.func).removeprefix('self.')}")
        kept: ast.expr | None = None
        if (module is not None and module.kind == "ReLU") or ast.unparse(call.func) in ("torch.relu", "F.relu"):
            kept = next(iter(call.args), None)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "relu":
            kept = call.func.value if not call.args else call.args[0]
        whole, inner = ast.get_source_segment(code, call), ast.get_source_segment(code, kept) if kept else None
        if whole and inner:
            return code.replace(whole, inner, 1)
    return None
