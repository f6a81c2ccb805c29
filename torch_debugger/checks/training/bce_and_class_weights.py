"""Binary cross-entropy and class weights."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line, op_of
from torch_debugger.checks.loss_graph import LossGraphCheck, fed_by, line_of, output_activation
from torch_debugger.records import ClassTargets, Comparison, Finding, LossGraph, Place, Record, Spread


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
        _, sigmoid = next(fed_by(graph, ("BinaryCrossEntropyWithLogits",), ("Sigmoid",)), (None, None))
        if sigmoid is None:
            return None
        extra = output_activation(graph, sigmoid, state)
        loss = at_line(graph.place)
        return self.finding(
            severity="error",
            confidence=0.97,
            message=f"The loss behind backward(){loss} takes the output of {extra.words} for logits: "
            "the scores go through a sigmoid twice.",
            why="Binary cross-entropy with logits contains a sigmoid of its own. Given values between 0 and 1 "
            "it sees probabilities between 0.5 and 0.73, so even a sure and right model cannot get the "
            "loss below 0.31 for a 1 and 0.69 for a 0.",
            fix=(f"Remove {extra.words} and pass the raw scores to the loss; take sigmoid only to show probabilities."),
            where=extra.where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={
                "chain": "BinaryCrossEntropyWithLogits <- Sigmoid",
                "shape": str(tuple(sigmoid.shape)),
                "loss": graph.loss,
            },
            edit=extra.removal,
        )


class BinaryTargetsOutOfRange(Check):
    """Binary cross-entropy is given targets below 0 or above 1.

    Symptom:
        The loss falls below zero and has no lowest value; the scores grow without end.
    Evidence:
        The targets that the loss saved for its backward: a share of them far outside of 0 to 1.
    Fix:
        Bring the targets to 0 and 1: `(y + 1) / 2` for labels of -1 and 1, `y - 1` for 1 and 2, `/ 255` for
        the grey values of pictures.
    Known limits:
        Targets a little outside, as GANs take them (0.7 to 1.2), are accepted.
    """

    id = "TD516"
    name = "binary-targets-out-of-range"
    title = "binary cross-entropy with targets outside of 0 to 1"
    reads = (Comparison,)
    explains = ("loss-not-finite", "overflow-ahead", "lr-too-high")

    # Smoothed and noisy labels stay within these.
    lowest = -0.5
    highest = 1.5
    # Of the targets: one bad label is another story.
    smallest_share = 0.02

    def __init__(self) -> None:
        self._first: dict[str, Comparison] = {}

    def see(self, record: Comparison, state: RunState) -> Iterable[Finding]:
        if record.site not in self._first and self._is_out(record):
            self._first[record.site] = record
            yield self._judge(record, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [self._judge(record, state) for record in self._first.values()]

    def _is_out(self, record: Comparison) -> bool:
        if not record.op.startswith("BinaryCrossEntropy"):
            return False
        below = record.target.lowest < self.lowest and record.below_zero >= self.smallest_share
        above = record.target.highest > self.highest and record.above_one >= self.smallest_share
        return below or above

    def _judge(self, record: Comparison, state: RunState) -> Finding:
        target = record.target
        outside = record.below_zero + record.above_one
        return self.finding(
            severity="error",
            confidence=0.96,
            message=f"The binary cross-entropy{at_line(record.made)} gets targets from {target.lowest:.4g} to "
            f"{target.highest:.4g}: {outside:.0%} of them lie outside of 0 to 1.",
            why="Binary cross-entropy takes its target for a probability. For a target below 0 or above 1 it "
            "has no lowest value: the larger the score, the lower the loss, without end.",
            fix=_fix(target),
            where=record.made,
            steps=(record.step, max(record.step, state.step)),
            evidence={"lowest_target": target.lowest, "highest_target": target.highest, "share_outside": outside},
        )


def _fix(target: Spread) -> str:
    low, high = round(target.lowest, 3), round(target.highest, 3)
    if (low, high) == (-1.0, 1.0):
        return "Bring the targets to 0 and 1: `(target + 1) / 2`."
    if (low, high) == (1.0, 2.0):
        return "Bring the targets to 0 and 1: `target - 1`."
    if low >= 0 and 100 < high <= 255:
        return "Bring the targets to the range 0 to 1: `target / 255`."
    return (
        "Bring the targets to the range 0 to 1; for targets of any other range use a loss for numbers, such as "
        "`nn.MSELoss()`."
    )


class ClassWeightsInverted(Check):
    """The class weights grow with how often a class occurs, where they should shrink.

    Symptom:
        The model answers the frequent classes only; the rare ones get worse than without any weights.
    Evidence:
        The weights and the targets that the loss saved, added up over the steps looked at: weights in
        proportion to the counts. For two classes, a `pos_weight` of positives / negatives.
    Fix:
        `weight = total / (classes * counts)`; `pos_weight = negatives / positives`.
    Known limits:
        Weights chosen by other rules, and classes that occur about equally often, are not judged.
    """

    id = "TD519"
    name = "class-weights-inverted"
    title = "class weights that are larger for frequent classes"
    reads = (LossGraph, ClassTargets, Comparison)

    # Targets counted: three batches of 32, which is what a short run gets looked at.
    targets_needed = 90
    # Of the most frequent class to the least: below, weights matter little.
    unequal = 3.0
    # How well log(weight) follows log(count), and how steeply: 1 is in proportion, 0.5 its square root.
    follows = 0.95
    steepness = (0.4, 1.4)
    # pos_weight may differ from positives / negatives by this factor: they are estimated.
    estimate = 1.8

    def __init__(self) -> None:
        self._counts: dict[str, list[float]] = {}
        self._weights: dict[str, tuple[float, ...]] = {}
        self._binary: dict[str, list[Comparison]] = {}
        self._graphs: dict[str, LossGraph] = {}
        self._first: dict[str, int] = {}

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, LossGraph):
            self._graphs.setdefault(record.site, record)
        elif isinstance(record, ClassTargets) and record.counts and len(record.weights) == len(record.counts):
            self._first.setdefault(record.site, record.step)
            before = self._counts.get(record.site, [0.0] * len(record.counts))
            if len(before) == len(record.counts):
                self._counts[record.site] = [a + b for a, b in zip(before, record.counts, strict=True)]
                self._weights[record.site] = record.weights
        elif isinstance(record, Comparison) and _has_labels(record):
            self._first.setdefault(record.site, record.step)
            self._binary.setdefault(record.site, []).append(record)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for site, counts in self._counts.items():
            if self._is_inverted(counts, self._weights[site]):
                yield self._judge_classes(site, counts, state)
        for site, looks in self._binary.items():
            if self._is_inverted_pair(looks):
                positive, weight = statistics.fmean(look.target.mean for look in looks), looks[-1].pos_weight
                where = self._where(site, ("BinaryCrossEntropyWithLogits",))
                yield self._tell(
                    where,
                    f"The loss{at_line(where)} has a pos_weight of {weight:.3g} with {positive:.0%} positive targets: "
                    "that is positives / negatives, the wrong way round.",
                    f"Use negatives / positives: `pos_weight=torch.tensor([{(1 - positive) / positive:.3g}])`.",
                    {"pos_weight": weight, "positive": positive},
                    (self._first[site], state.step),
                )

    def _is_inverted(self, counts: list[float], weights: tuple[float, ...]) -> bool:
        known = [(math.log(c), math.log(w)) for c, w in zip(counts, weights, strict=True) if c >= 3 and w > 0]
        if sum(counts) < self.targets_needed or len(known) < 2 or len(known) < 0.8 * len(counts):
            return False
        logs, heights = [c for c, _ in known], [w for _, w in known]
        if max(logs) - min(logs) < math.log(self.unequal) or max(heights) == min(heights):
            return False
        slope = statistics.linear_regression(logs, heights).slope
        follows = statistics.correlation(logs, heights) >= self.follows
        return follows and self.steepness[0] <= slope <= self.steepness[1]

    def _is_inverted_pair(self, looks: list[Comparison]) -> bool:
        positive = statistics.fmean(look.target.mean for look in looks)
        if sum(math.prod(look.shape) for look in looks) < self.targets_needed or not 0.02 < positive < 0.98:
            return False
        odds, weight = positive / (1 - positive), looks[-1].pos_weight
        far = max(odds, 1 / odds) >= self.unequal
        return far and weight > 0 and abs(math.log(weight / odds)) < math.log(self.estimate)

    def _judge_classes(self, site: str, counts: list[float], state: RunState) -> Finding:
        weights = self._weights[site]
        often, seldom = counts.index(max(counts)), counts.index(min(counts))
        share_often, share_seldom = counts[often] / sum(counts), counts[seldom] / sum(counts)
        where = self._where(site, ("NllLoss", "NllLoss2D"))
        return self._tell(
            where,
            f"The class weights of the loss{at_line(where)} follow the frequencies: class {often}, "
            f"{share_often:.0%} of the targets, weighs {weights[often]:.3g}, and class {seldom}, "
            f"{share_seldom:.0%}, weighs {weights[seldom]:.3g}.",
            "Use the inverse of the counts: `weight = counts.sum() / (len(counts) * counts)`.",
            {"weight_of_frequent": weights[often], "weight_of_rare": weights[seldom], "frequent": share_often},
            (self._first[site], state.step),
        )

    def _where(self, site: str, ops: tuple[str, ...]) -> Place:
        graph = self._graphs.get(site)
        nodes = [node for node in graph.nodes if op_of(node) in ops] if graph else []
        return line_of(graph, nodes[0]) if graph and nodes else Place()

    def _tell(
        self, where: Place, message: str, fix: str, evidence: dict[str, float | str], steps: tuple[int, int]
    ) -> Finding:
        return self.finding(
            severity="error",
            confidence=0.92,
            message=message,
            why="Weights are there to make up for few examples. In proportion to the counts they do the "
            "opposite: the frequent classes count even more, and the rare ones hardly at all.",
            fix=fix,
            where=where,
            steps=(steps[0], max(steps)),
            evidence=evidence,
        )


def _has_labels(record: Comparison) -> bool:
    """Targets of 0 and 1 with a weight for the ones: their spread is that of a coin."""
    mean, std = record.target.mean, record.target.std
    hard = record.target.lowest >= 0 and record.target.highest <= 1 and abs(std**2 - mean * (1 - mean)) < 1e-3
    return hard and not math.isnan(record.pos_weight)
