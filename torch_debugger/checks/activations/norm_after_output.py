"""TD320: a LayerNorm behind the last layer of a regression."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import fallen_share
from torch_debugger.checks.graph import operands, origin
from torch_debugger.checks.graph_ops import numbers_by_op, op_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph, Place, Record

_DISTANCES = {
    "MseLoss": "the squared error", "L1Loss": "the absolute error", "SmoothL1Loss": "the smooth L1 loss",
    "HuberLoss": "the Huber loss", "Pow": "the squared error", "Abs": "the absolute error",
}  # fmt: skip


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

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph) and self._norm(record) is not None:
            self._graphs.setdefault(record.site, record)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        for graph in self._graphs.values():
            found = self._norm(graph)
            if found is not None and fallen is not None and fallen < self.healthy_fall:
                yield self._judge(graph, *found, fallen, state)

    def _norm(self, graph: LossGraph) -> tuple[GraphNode, str] | None:
        """The LayerNorm whose output is compared with a target, and by what."""
        if "NativeLayerNorm" not in numbers_by_op(graph):
            return None
        for taker in graph.nodes:
            compared = _compared(graph, taker)
            made = origin(graph, compared) if compared is not None else None
            if made is not None and op_of(made) == "NativeLayerNorm" and self._is_small(made):
                return made, _DISTANCES[op_of(taker)]
        return None

    def _is_small(self, norm: GraphNode) -> bool:
        return bool(norm.shape) and norm.shape[-1] <= self.most_features

    def _judge(self, graph: LossGraph, norm: GraphNode, loss: str, fallen: float, state: RunState) -> Finding:
        path = _module_of(graph, norm)
        module = state.module(path) if path else None
        what = f"`{path}` ({module.kind})" if module is not None else "A layer_norm"
        size = norm.shape[-1]
        lost = "makes the same number of every output" if size == 1 else f"makes all {size} outputs of a sample"
        given = "" if size == 1 else " have mean 0 and deviation 1 before its weight and bias"
        return self.finding(
            severity="error" if size == 1 else "warning",
            confidence=0.97 if size == 1 else 0.85,
            message=(
                f"{what} {lost}{given}, right in front of {loss}. The loss has fallen by "
                f"{max(0.0, fallen):.0%}."
            ),
            why=(
                "A LayerNorm subtracts the mean over a sample's own outputs and divides by their deviation: "
                "what the last layer says about the level and the size of a sample is lost."
            ),
            fix=f"Remove {what}, or put it in front of the last layer.",
            where=_place(module.place if module is not None else None, path, graph),
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"features": float(size), "loss_fallen": fallen, "loss": loss},
        )


def _compared(graph: LossGraph, taker: GraphNode) -> GraphNode | None:
    """What an error measure takes from the model; of one written by hand, the side that has a graph."""
    if op_of(taker) not in _DISTANCES:
        return None
    first = next(operands(graph, taker), None)
    if op_of(taker) not in ("Pow", "Abs"):
        return first
    sides = list(operands(graph, first)) if first is not None and op_of(first) in ("Sub", "Rsub") else []
    return sides[0] if len(sides) == 1 else None


def _module_of(graph: LossGraph, norm: GraphNode) -> str:
    names = [operand.parameter for operand in operands(graph, norm) if operand.parameter]
    return names[0].rpartition(".")[0] if names else ""


def _place(made: Place | None, path: str, graph: LossGraph) -> Place:
    if made is not None and made.file:
        return Place(made.file, made.line, path, made.code)
    return graph.made if graph.made.file else graph.place
