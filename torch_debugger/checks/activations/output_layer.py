"""Layers behind the last one: a ReLU or a LayerNorm in front of the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, nodes_with, numbers_by_op, op_of, within
from torch_debugger.checks.call_edits import calls_in, edit_line
from torch_debugger.checks.loss_graph import (
    BY_HAND,
    OutputActivation,
    first_operand,
    operands,
    origin,
    output_activation,
    prediction_in,
)
from torch_debugger.checks.trends import fallen_share
from torch_debugger.records import AutogradNode, Comparison, Finding, LossGraph, Record

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
        self._reported: set[str] = set()
        self._negative: dict[str, Comparison] = {}  # site -> a comparison with targets below zero

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, Comparison) and record.below_zero >= self.smallest_share:
            self._negative.setdefault(record.site, record)
        else:
            return
        finding = self._find(self._graphs.get(record.site), state) if record.site not in self._reported else None
        if finding is not None:
            self._reported.add(record.site)
            yield finding

    def finish(self, state: RunState) -> Iterable[Finding]:
        """The same findings; by now the last step is known."""
        found = [self._find(self._graphs[site], state) for site in sorted(self._reported)]
        return [finding for finding in found if finding is not None]

    def _find(self, graph: LossGraph | None, state: RunState) -> Finding | None:
        if graph is None or "Relu" not in numbers_by_op(graph):
            return None
        for taker in nodes_with(graph, (*_SCORES, *_DISTANCES)):
            relu, op = origin(graph, prediction_in(graph, taker)), op_of(taker)
            if relu is None or op_of(relu) != "Relu":
                continue
            compared = self._negative.get(graph.site)
            if op in _SCORES or compared is not None:
                needs = (
                    f"{_DISTANCES[op]} to targets of which {compared.below_zero:.0%} lie below 0"
                    if compared is not None and op not in _SCORES
                    else f"{_SCORES[op]}, which needs scores of either sign"
                )
                extra = output_activation(graph, relu, state)
                found = extra.node.place  # where forward returns it, else where the module is made
                place = found if found is not None and found.file else extra.where
                after = _without(place.code or "", extra, state) if extra.node.place else None
                return self.finding(
                    severity="error",
                    confidence=0.9,
                    message=f"The model's output goes through a ReLU into {needs}: it can never be negative.",
                    why="Where the layer in front gives a negative value the ReLU makes it 0 and passes no gradient "
                    "back, so exactly the outputs that should go down cannot be corrected.",
                    fix=(
                        f"Write `{after}`: the last layer's output goes to the loss as it is."
                        if after
                        else "Leave out the ReLU after the last layer: its output goes to the loss as it is."
                    ),
                    where=place,
                    steps=(graph.step, max(graph.step, state.step)),
                    evidence={"chain": "loss <- Relu", "shape": str(extra.node.shape), "loss": graph.loss},
                    edit=edit_line(place, after),
                )
        return None


def _without(code: str, extra: OutputActivation, state: RunState) -> str | None:
    """`return self.act(self.out(x))` -> `return self.out(x)`"""
    root = extra.model.root if extra.model else ""
    for call in calls_in(code):
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


class NormAfterOutput(Check):
    """The outputs of a regression go through a LayerNorm, which takes away their level and their size.

    Symptom:
        The loss falls a little and then stands still far too high; with one output it is the same number for
        every sample.
    Evidence:
        The autograd graph of the loss: what an error measure compares with the targets is the output of a
        LayerNorm over a few features, with nothing but changes of shape between them, and the loss stays high.
    Fix:
        Remove the LayerNorm, or put it in front of the last layer.
    Known limits:
        Only a LayerNorm over at most 8 features is judged: over many it takes away next to nothing, and
        features are normalised for distillation. BatchNorm keeps the differences between samples and is not
        judged.
    """

    id = "TD320"
    name = "norm-after-output"
    title = "a LayerNorm stands behind the last layer of a regression"
    reads = (LossGraph,)
    explains = ("vanishing-gradient", "lr-too-low", "regression-target-scale", "targets-out-of-reach")

    most_features = 8
    # Of the loss, gone: then the targets are such that a normalised output can meet them.
    healthy_fall = 0.8

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, LossGraph) and self._norm(record) is not None:
            self._graphs.setdefault(record.site, record)

    def finish(self, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        for graph in self._graphs.values():
            found = self._norm(graph)
            if found is not None and fallen is not None and fallen < self.healthy_fall:
                yield self._judge(graph, *found, fallen, state)

    def _norm(self, graph: LossGraph) -> tuple[AutogradNode, str] | None:
        """The LayerNorm whose output is compared with a target, and by what."""
        if "NativeLayerNorm" not in numbers_by_op(graph):
            return None
        for taker in graph.nodes:
            made = origin(graph, _compared(graph, taker))
            if made is None or op_of(made) != "NativeLayerNorm" or not made.shape:
                continue
            if made.shape[-1] <= self.most_features:
                return made, _DISTANCES[op_of(taker)]
        return None

    def _judge(self, graph: LossGraph, norm: AutogradNode, loss: str, fallen: float, state: RunState) -> Finding:
        names = [operand.parameter for operand in operands(graph, norm) if operand.parameter]
        path = names[0].rpartition(".")[0] if names else ""
        module = state.module(path) if path else None
        what = f"`{path}` ({module.kind})" if module is not None else "A layer_norm"
        size = norm.shape[-1]
        lost = (
            "makes the same number of every output"
            if size == 1
            else f"makes all {size} outputs of a sample have mean 0 and deviation 1 before its weight and bias"
        )
        where = graph.made if graph.made.file else graph.place
        if module is not None and module.place.file:
            where = within(module.place, path)
        return self.finding(
            severity="error" if size == 1 else "warning",
            confidence=0.97 if size == 1 else 0.85,
            message=f"{what} {lost}, right in front of {loss}. The loss has fallen by {max(0.0, fallen):.0%}.",
            why="A LayerNorm subtracts the mean over a sample's own outputs and divides by their deviation: "
            "what the last layer says about the level and the size of a sample is lost.",
            fix=f"Remove {what}, or put it in front of the last layer.",
            where=where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={"features": float(size), "loss_fallen": fallen, "loss": loss},
        )


def _compared(graph: LossGraph, taker: AutogradNode) -> AutogradNode | None:
    """What an error measure takes from the model; of one written by hand, the side that has a graph."""
    if op_of(taker) not in _DISTANCES:
        return None
    first = first_operand(graph, taker)
    if op_of(taker) not in BY_HAND:
        return first
    sides = list(operands(graph, first)) if first is not None and op_of(first) in ("Sub", "Rsub") else []
    return sides[0] if len(sides) == 1 else None
