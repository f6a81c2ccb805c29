"""Binary cross-entropy and class weights."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line, op_of
from torch_debugger.checks.loss_graph import LossGraphCheck, SiteCheck, fed_by, line_of, output_activation
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
        return self.finding(
            severity="error",
            confidence=0.97,
            message=f"The loss behind backward(){at_line(graph.place)} takes the output of {extra.words} for logits: "
            "the scores go through a sigmoid twice.",
            why="Binary cross-entropy with logits contains a sigmoid of its own. Given values between 0 and 1 "
            "it sees probabilities between 0.5 and 0.73, so even a sure and right model cannot get the "
            "loss below 0.31 for a 1 and 0.69 for a 0.",
            fix=f"Remove {extra.words} and pass the raw scores to the loss; take sigmoid only to show probabilities.",
            where=extra.where,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={
                "chain": "BinaryCrossEntropyWithLogits <- Sigmoid",
                "shape": str(tuple(sigmoid.shape)),
                "loss": graph.loss,
            },
            edit=extra.removal,
        )


class BinaryTargetsOutOfRange(SiteCheck[Comparison]):
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

    def judge(self, record: Comparison, state: RunState) -> Finding | None:
        target, outside = record.target, record.below_zero + record.above_one
        below = target.lowest < self.lowest and record.below_zero >= self.smallest_share
        above = target.highest > self.highest and record.above_one >= self.smallest_share
        if not record.op.startswith("BinaryCrossEntropy") or not (below or above):
            return None
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
        elif isinstance(record, Comparison):
            # Targets of 0 and 1 with a weight for the ones: their spread is that of a coin.
            mean, std = record.target.mean, record.target.std
            hard = record.target.lowest >= 0 and record.target.highest <= 1 and abs(std**2 - mean * (1 - mean)) < 1e-3
            if not hard or math.isnan(record.pos_weight):
                return
            self._first.setdefault(record.site, record.step)
            self._binary.setdefault(record.site, []).append(record)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for site, counts in self._counts.items():
            weights = self._weights[site]
            if self._is_inverted(counts, weights):
                often, seldom = counts.index(max(counts)), counts.index(min(counts))
                share_often, share_seldom = counts[often] / sum(counts), counts[seldom] / sum(counts)
                yield self._inverted(
                    site,
                    ("NllLoss", "NllLoss2D"),
                    "The class weights of the loss{} "
                    f"follow the frequencies: class {often}, {share_often:.0%} of the targets, weighs "
                    f"{weights[often]:.3g}, and class {seldom}, {share_seldom:.0%}, weighs {weights[seldom]:.3g}.",
                    "Use the inverse of the counts: `weight = counts.sum() / (len(counts) * counts)`.",
                    {"weight_of_frequent": weights[often], "weight_of_rare": weights[seldom], "frequent": share_often},
                    state,
                )
        for site, looks in self._binary.items():
            positive, weight = statistics.fmean(look.target.mean for look in looks), looks[-1].pos_weight
            if sum(math.prod(look.shape) for look in looks) < self.targets_needed or not 0.02 < positive < 0.98:
                continue
            odds = positive / (1 - positive)
            far = max(odds, 1 / odds) >= self.unequal
            if far and weight > 0 and abs(math.log(weight / odds)) < math.log(self.estimate):
                yield self._inverted(
                    site,
                    ("BinaryCrossEntropyWithLogits",),
                    f"The loss{{}} has a pos_weight of {weight:.3g} with {positive:.0%} positive targets: that is "
                    "positives / negatives, the wrong way round.",
                    f"Use negatives / positives: `pos_weight=torch.tensor([{(1 - positive) / positive:.3g}])`.",
                    {"pos_weight": weight, "positive": positive},
                    state,
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

    def _inverted(
        self, site: str, ops: tuple[str, ...], message: str, fix: str, evidence: dict[str, float | str], state: RunState
    ) -> Finding:
        graph, first = self._graphs.get(site), self._first[site]
        node = next((node for node in graph.nodes if op_of(node) in ops), None) if graph else None
        where = line_of(graph, node) if graph and node else Place()
        return self.finding(
            severity="error",
            confidence=0.92,
            message=message.format(at_line(where)),
            why="Weights are there to make up for few examples. In proportion to the counts they do the "
            "opposite: the frequent classes count even more, and the rare ones hardly at all.",
            fix=fix,
            where=where,
            steps=(first, max(first, state.step)),
            evidence=evidence,
        )
