"""TD519: class weights that favour what is frequent anyway."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph import at, line_of
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import ClassTargets, Comparison, Finding, LossGraph, Place, Record


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

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
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
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        for site, counts in self._counts.items():
            if self._is_inverted(counts, self._weights[site]):
                yield self._judge_classes(site, counts, state)
        for site, looks in self._binary.items():
            if self._is_inverted_pair(looks):
                yield self._judge_pair(site, looks, state)

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
            f"The class weights of the loss{at(where)} follow the frequencies: class {often}, "
            f"{share_often:.0%} of the targets, weighs {weights[often]:.3g}, and class {seldom}, "
            f"{share_seldom:.0%}, weighs {weights[seldom]:.3g}.",
            "Use the inverse of the counts: `weight = counts.sum() / (len(counts) * counts)`.",
            {"weight_of_frequent": weights[often], "weight_of_rare": weights[seldom], "frequent": share_often},
            (self._first[site], state.step),
        )

    def _judge_pair(self, site: str, looks: list[Comparison], state: RunState) -> Finding:
        positive, weight = statistics.fmean(look.target.mean for look in looks), looks[-1].pos_weight
        where = self._where(site, ("BinaryCrossEntropyWithLogits",))
        return self._tell(
            where,
            f"The loss{at(where)} has a pos_weight of {weight:.3g} with {positive:.0%} positive targets: that "
            "is positives / negatives, the wrong way round.",
            f"Use negatives / positives: `pos_weight=torch.tensor([{(1 - positive) / positive:.3g}])`.",
            {"pos_weight": weight, "positive": positive},
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
            why=(
                "Weights are there to make up for few examples. In proportion to the counts they do the "
                "opposite: the frequent classes count even more, and the rare ones hardly at all."
            ),
            fix=fix,
            where=where,
            first_step=steps[0],
            last_step=max(steps),
            evidence=evidence,
        )


def _has_labels(record: Comparison) -> bool:
    """Targets of 0 and 1 with a weight for the ones: their spread is that of a coin."""
    mean, std = record.target.mean, record.target.std
    hard = record.target.lowest >= 0 and record.target.highest <= 1 and abs(std**2 - mean * (1 - mean)) < 1e-3
    return hard and not math.isnan(record.pos_weight)
