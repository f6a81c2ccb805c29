from __future__ import annotations

import dataclasses
import math

import pytest

from tests.checks.graphs import loss_graph, node
from tests.checks.training.loss_terms import comparison, spread, targets
from tests.fakes import judged, place
from torch_debugger.records import Comparison, Finding, LossGraph, Record

LOSS = dataclasses.replace(node("NllLoss", (), 1), place=place(12, code="criterion = nn.CrossEntropyLoss(weight=w)"))
GRAPH: LossGraph = loss_graph(LOSS, node("LogSoftmax", (50, 3)))
COUNTS = (160.0, 30.0, 10.0)


def check(*records: Record) -> list[Finding]:
    return judged(records, "class-weights-inverted")


def looks(counts: tuple[float, ...], weights: tuple[float, ...], times: int = 3) -> list[Record]:
    return [targets(step=step, counts=counts, weights=weights) for step in range(1, times + 1)]


def test_weights_in_proportion_to_the_counts_are_an_error() -> None:
    (finding,) = check(GRAPH, *looks(COUNTS, (0.8, 0.15, 0.05)))
    assert finding.severity == "error"
    assert finding.message == (
        "The class weights of the loss at train.py:12 follow the frequencies: class 0, 80% of the targets, "
        "weighs 0.8, and class 2, 5%, weighs 0.05."
    )
    assert finding.where.line == 12


@pytest.mark.parametrize(
    ("counts", "weights"),
    [
        (COUNTS, tuple(1 / count for count in COUNTS)),
        (COUNTS, tuple(1 / math.sqrt(count) for count in COUNTS)),
        (COUNTS, (1.0, 1.0, 1.0)),
        (COUNTS, (1.5, 1.0, 3.0)),
        ((60.0, 50.0, 45.0), (0.6, 0.5, 0.45)),
        ((16.0, 5.0, 4.0), (0.8, 0.15, 0.05)),
    ],
    ids=["inverse", "square root", "equal", "by cost", "balanced", "few targets"],
)
def test_other_weights_are_silent(counts: tuple[float, ...], weights: tuple[float, ...]) -> None:
    assert not check(GRAPH, *looks(counts, weights))


def clicks(positive: float, pos_weight: float) -> list[Comparison]:
    coin = spread(0, 1, positive, math.sqrt(positive * (1 - positive)))
    loss = "BinaryCrossEntropyWithLogits"
    return [comparison(loss, step, target=coin, pos_weight=pos_weight) for step in range(1, 8)]


def test_a_pos_weight_of_positives_over_negatives_is_an_error() -> None:
    (finding,) = check(*clicks(0.1, 0.11))
    assert "has a pos_weight of 0.11 with 10% positive targets" in finding.message
    assert finding.fix == "Use negatives / positives: `pos_weight=torch.tensor([9])`."


@pytest.mark.parametrize(("positive", "pos_weight"), [(0.1, 9.0), (0.1, 1.0), (0.45, 0.82), (0.1, math.nan)])
def test_other_weights_of_the_positive_are_silent(positive: float, pos_weight: float) -> None:
    assert not check(*clicks(positive, pos_weight))
