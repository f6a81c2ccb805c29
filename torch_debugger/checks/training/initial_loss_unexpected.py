"""TD523: a first loss far above what guessing would give."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import at, model_behind, operands, origin
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import (
    CheckpointLoad,
    ClassTargets,
    Finding,
    GraphNode,
    InputLook,
    LossGraph,
    ModuleFact,
    Place,
    Record,
)


class InitialLossUnexpected(Check):
    """The first cross-entropy is several times that of guessing: the untrained scores are far too large.

    Symptom:
        The loss starts high and the first part of the training only undoes that: the curve looks like a
        hockey stick.
    Evidence:
        The first loss, before any update, against ln(classes), which is what a model gives that finds all
        classes equally likely; and the layer that makes the scores, from the autograd graph.
    Fix:
        Start the last layer with small weights: `nn.init.normal_(head.weight, std=0.02)`. An embedding, which
        starts with deviation 1, needs that above all where its weights are the output layer's too.
    Known limits:
        Not said where inputs are large themselves, which other checks tell, or where weights were loaded.
    """

    id = "TD523"
    name = "initial-loss-unexpected"
    title = "the first loss is far above that of guessing"
    reads = (LossGraph, ClassTargets, InputLook, CheckpointLoad)

    # The first loss beside ln(classes); torch's own start values stay below 1.5 times that.
    times, above = 3.0, 2.0
    # Log-probabilities, of any precision.
    normalised = 0.1
    # Root mean square of what goes into the first layer.
    large_input = 10.0
    targets_needed = 16

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}  # of the first step, by site; a device tells targets later
        self._targets: ClassTargets | None = None
        self._elsewhere = False  # the reason lies with the inputs or with loaded weights

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, CheckpointLoad):
            self._elsewhere = self._elsewhere or record.step <= 1
        elif isinstance(record, InputLook):
            large = "float" in record.dtype and not math.hypot(record.mean, record.std) < self.large_input
            self._elsewhere = self._elsewhere or (record.step <= 1 and large)
        elif isinstance(record, ClassTargets) and record.step == 1 and self._is_high(record):
            self._targets = self._targets or record
        elif isinstance(record, LossGraph) and record.step == 1:
            self._graphs.setdefault(record.site, record)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        graph = self._graphs.get(self._targets.site) if self._targets else None
        if self._targets and graph is not None and not self._elsewhere:
            yield self._judge(self._targets, graph, state)

    def _is_high(self, targets: ClassTargets) -> bool:
        guess = math.log(targets.shape[1]) if targets.shape[1] > 1 else math.inf
        normalised = max(abs(targets.lowest_sum), abs(targets.highest_sum)) < self.normalised
        high = targets.surprise > self.times * guess + self.above
        return normalised and high and targets.total >= self.targets_needed

    def _judge(self, targets: ClassTargets, graph: LossGraph, state: RunState) -> Finding:
        classes = targets.shape[1]
        layer = _scoring_layer(graph, state)
        by = f" of `{layer.path}`" if layer else ""
        filled = model.filled if (model := model_behind(graph, state)) else Place()
        where = next((line for line in (filled, layer.place if layer else filled) if line.file), targets.made)
        instead = f" in place of `{filled.code}`" if filled.code else ""
        return self.finding(
            severity="warning",
            confidence=0.85,
            message=(
                f"The first loss{at(targets.made)} is {targets.surprise:.3g}, and guessing among {classes} "
                f"classes would give {math.log(classes):.3g}: the scores{by} start far too large."
            ),
            why=(
                "Before any training the model is sure of random answers. The first steps go into shrinking "
                "the scores, with gradients that say nothing else."
            ),
            fix=(
                f"Start with small weights in `{layer.path}`: `nn.init.normal_({layer.path}.weight, std=0.02)`"
                f"{instead}."
                if layer
                else "Start the layer that makes the scores with small weights, of a deviation near 0.02."
            ),
            where=where,
            first_step=1,
            last_step=max(1, state.step),
            evidence={"first_loss": targets.surprise, "guessing": math.log(classes), "classes": float(classes)},
        )


def _scoring_layer(graph: LossGraph, state: RunState) -> ModuleFact | None:
    """The module whose weights the scores were multiplied with last."""
    for node in graph.nodes:
        if op_of(node) == "LogSoftmax":
            scores = next(operands(graph, node), None)
            product = origin(graph, scores) if scores is not None else None
            names = [_parameter(graph, operand) for operand in operands(graph, product)] if product else []
            named = [name for name in names if name and name.endswith("weight")]
            return state.module(named[0].rsplit(".", 1)[0]) if named else None
    return None


def _parameter(graph: LossGraph, node: GraphNode) -> str | None:
    return origin(graph, node).parameter
