"""What the values of the loss say: a bad start, a sum for a mean, skipped NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line, nodes_with, op_of
from torch_debugger.checks.call_edits import highest_rate
from torch_debugger.checks.loss_graph import SHAPE_ONLY, call_of, first_operand, model_behind, operands, origin
from torch_debugger.checks.trends import recent_level, start_level
from torch_debugger.records import (
    AutogradNode,
    CheckpointLoad,
    ClassTargets,
    Comparison,
    Finding,
    InputLook,
    LossGraph,
    ModuleFact,
    Place,
    Record,
    SkippedLosses,
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

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, CheckpointLoad):
            self._elsewhere = self._elsewhere or record.step <= 1
        elif isinstance(record, InputLook):
            large = "float" in record.dtype and not math.hypot(record.mean, record.std) < self.large_input
            self._elsewhere = self._elsewhere or (record.step <= 1 and large)
        elif isinstance(record, ClassTargets) and record.step == 1:
            guess = math.log(record.shape[1]) if record.shape[1] > 1 else math.inf
            normalised = max(abs(record.lowest_sum), abs(record.highest_sum)) < self.normalised
            high = record.surprise > self.times * guess + self.above
            if normalised and high and record.total >= self.targets_needed:
                self._targets = self._targets or record
        elif isinstance(record, LossGraph) and record.step == 1:
            self._graphs.setdefault(record.site, record)

    def finish(self, state: RunState) -> Iterable[Finding]:
        graph = self._graphs.get(self._targets.site) if self._targets else None
        if self._targets and graph is not None and not self._elsewhere:
            targets = self._targets
            classes = targets.shape[1]
            layer = _scoring_layer(graph, state)
            by = f" of `{layer.path}`" if layer else ""
            filled = model.filled if (model := model_behind(graph, state)) else Place()
            where = next((line for line in (filled, layer.place if layer else filled) if line.file), targets.made)
            instead = f" in place of `{filled.code}`" if filled.code else ""
            yield self.finding(
                severity="warning",
                confidence=0.85,
                message=f"The first loss{at_line(targets.made)} is {targets.surprise:.3g}, and guessing among "
                f"{classes} classes would give {math.log(classes):.3g}: the scores{by} start far too large.",
                why="Before any training the model is sure of random answers. The first steps go into shrinking "
                "the scores, with gradients that say nothing else.",
                fix=(
                    f"Start with small weights in `{layer.path}`: `nn.init.normal_({layer.path}.weight, std=0.02)`"
                    f"{instead}."
                    if layer
                    else "Start the layer that makes the scores with small weights, of a deviation near 0.02."
                ),
                where=where,
                steps=(1, max(1, state.step)),
                evidence={"first_loss": targets.surprise, "guessing": math.log(classes), "classes": float(classes)},
            )


def _scoring_layer(graph: LossGraph, state: RunState) -> ModuleFact | None:
    """The module whose weights the scores were multiplied with last."""
    softmax = next(iter(nodes_with(graph, ("LogSoftmax",))), None)
    product = origin(graph, first_operand(graph, softmax))
    factors = [origin(graph, operand) for operand in operands(graph, product)] if product else []
    weights = [node.parameter for node in factors if node and node.parameter and node.parameter.endswith("weight")]
    return state.module(weights[0].rsplit(".", 1)[0]) if weights else None


_LOSSES = ("MseLoss", "SmoothL1Loss", "HuberLoss", "NllLoss", "NllLoss2D", "BinaryCrossEntropy",
           "BinaryCrossEntropyWithLogits")  # fmt: skip


class LossSummedOverBatch(Check):
    """The loss is the sum over the batch, so every step is as many times too large as the batch has samples.

    Symptom:
        The loss rises or becomes NaN within a few steps, at a learning rate that is usual for a mean. A larger
        batch makes it worse.
    Evidence:
        The autograd graph: the loss ends in a sum over samples, with nothing that divides it. The optimizer is
        SGD, whose step grows with the gradient; its rate would be usual for the mean, but not times the batch.
    Fix:
        Take the mean, or divide the learning rate by the number of samples.
    Known limits:
        Said only of runs that diverge, and of SGD: Adam and its kin take the gradient's size out again.
    """

    id = "TD526"
    name = "loss-summed-over-batch"
    title = "the loss is a sum over the batch and its steps are too large"
    reads = (LossGraph, Comparison)
    explains = ("lr-too-high", "loss-not-finite", "overflow-ahead", "exploding-gradient", "dead-relu")

    # A rate that plain SGD may have for a mean; and what no loss of usual scale bears.
    usual_rate = 0.5
    smallest_sum = 8
    risen = 4.0

    def __init__(self) -> None:
        self._graphs: dict[str, LossGraph] = {}
        self._sizes: dict[str, int] = {}  # site -> numbers that a loss function compared

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, Comparison):
            self._sizes.setdefault(record.site, math.prod(record.shape))

    def finish(self, state: RunState) -> Iterable[Finding]:
        optimizer = next(iter(state.optimizers.values())) if len(state.optimizers) == 1 else None
        rate = highest_rate(optimizer) if optimizer else None
        points = state.losses.finite()
        if optimizer is None or rate is None or optimizer.kind != "SGD" or len(state.sites) > 1 or not points:
            return
        grows = len(points) >= 10 and recent_level(points) > self.risen * abs(start_level(points))
        if not grows and len(points) == len(state.losses.points):
            return
        for site, graph in self._graphs.items():
            node, count = self._summed(graph, self._sizes.get(site, 0))
            if node is not None and rate <= self.usual_rate < rate * count:
                where = call_of(graph, node)
                yield self.finding(
                    severity="error",
                    confidence=0.85,
                    message=f"The loss{at_line(where)} is a sum over {count} numbers, and with `{optimizer.name}` "
                    f"(SGD, lr {rate:g}) it grows instead of falling: each step is as large as one at a rate of "
                    f"{rate * count:.3g} for their mean.",
                    why="The gradient of a sum is as many times larger than that of the mean as there are numbers in "
                    "it, and SGD steps by gradient times rate.",
                    fix=f"Take the mean in place of the sum{at_line(where)}; or set `lr` to {rate / count:.2g}.",
                    where=where,
                    steps=(graph.step, max(graph.step, state.step)),
                    evidence={"summed": float(count), "lr": rate, "lr_for_mean": rate * count, "loss": graph.loss},
                )

    def _summed(self, graph: LossGraph, size: int) -> tuple[AutogradNode | None, int]:
        """The sum that the loss is, and over how many numbers it goes."""
        node = graph.nodes[0] if graph.nodes else None
        for _ in graph.nodes:
            if node is None or op_of(node) not in SHAPE_ONLY:
                break
            node = first_operand(graph, node)
        if node is None:
            return None, 0
        below = first_operand(graph, node)
        if op_of(node) in _LOSSES and node.saved.get("reduction") == "sum" and below is not None:
            count = size or below.shape[0]
        elif op_of(node) == "Sum" and not node.shape and below is not None and op_of(below) not in ("Stack", "Cat"):
            count = math.prod(below.shape)
        else:
            return None, 0
        return (node, count) if count >= self.smallest_sum else (None, 0)


class NanStepsSkipped(Check):
    """The script leaves out every step whose loss is NaN or Inf, and these are many.

    Symptom:
        The logged loss looks healthy, because only the good steps are in it. A part of the data, or all of it
        from some step on, is never learned.
    Evidence:
        A model called again with no `backward()` since its last call, while the loss of that call lies in the
        caller's variables and is not finite.
    Fix:
        Find what makes it NaN: take the guard out and run again, and the op that makes the first NaN is named.
    Known limits:
        Seen for losses on the CPU that are still in a variable when the model is next called. A few left out
        steps are accepted.
    """

    id = "TD524"
    name = "nan-steps-skipped"
    title = "many steps are left out because their loss is NaN"
    reads = (SkippedLosses,)
    explains = ("output-not-finite",)

    # Fewer may be a broken sample here and there.
    smallest_count = 4
    # Of all steps, those left out.
    smallest_share = 0.1

    def __init__(self) -> None:
        self._first = 0
        self._last: SkippedLosses | None = None

    def see(self, record: SkippedLosses, state: RunState) -> None:
        self._first, self._last = self._first or record.step, record

    def finish(self, state: RunState) -> Iterable[Finding]:
        last = self._last
        share = last.count / (last.count + max(1, state.step)) if last else 0.0
        if last is not None and last.count >= self.smallest_count and share >= self.smallest_share:
            yield self.finding(
                severity="error",
                confidence=0.93,
                message=f"`{last.name}` was not finite {last.count} times or more since step {self._first}, and the "
                f"script{at_line(last.place)} went on without a backward(): {share:.0%} of all steps are left out.",
                why="A guard against NaN hides it. What is left out is never learned, the mean of the rest looks "
                "good, and whatever makes the NaN is still there.",
                fix=f"Take the guard{at_line(last.place)} out and run again: then the op that makes the first NaN is "
                "named; mend that, and keep a guard that counts and stops.",
                where=last.place,
                steps=(self._first, max(last.step, state.step)),
                evidence={"skipped": float(last.count), "share": share},
            )
