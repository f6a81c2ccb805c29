from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.checks.training.loss_terms import comparison
from tests.fakes import judged, loss_site, losses, optimizer
from torch_debugger.checks.judge import verdict
from torch_debugger.records import Finding, GraphNode, LossGraph, OptimizerFact

EXPLODING = [246.0, 9e3, 4e7, 1e13, math.inf]
FALLING = [246.0 * 0.97**step for step in range(60)]
BY_HAND = chain(("Sum", ()), ("Pow", (128, 1)), ("Sub", (128, 1)), ("Addmm", (128, 1)))
SGD = optimizer("SGD", 0.05)


def by_function(op: str = "MseLoss", reduction: str = "sum", shape: tuple[int, ...] = (128, 1)) -> LossGraph:
    top: GraphNode = dataclasses.replace(node(op, (), 1), saved={"reduction": reduction})
    return loss_graph(top, node("Addmm", shape))


def check(graph: LossGraph, values: Iterable[float] = EXPLODING, by: OptimizerFact = SGD, *only: str) -> list[Finding]:
    records = [by, loss_site(), comparison(shape=(128, 1)), graph, *losses(values)]
    return judged(records, "loss-summed-over-batch", *only)


def test_a_sum_that_explodes_is_an_error() -> None:
    (finding,) = check(by_function())
    assert finding.severity == "error"
    assert finding.message == (
        "The loss at train.py:40 is a sum over 128 numbers, and with `optimizer` (SGD, lr 0.05) it grows "
        "instead of falling: each step is as large as one at a rate of 6.4 for their mean."
    )
    assert finding.fix == "Take the mean in place of the sum at train.py:40; or set `lr` to 0.00039."


def test_a_sum_by_hand_is_seen_too() -> None:
    assert check(BY_HAND)


def test_the_sum_is_the_cause_of_the_rate() -> None:
    found = check(by_function(), EXPLODING, SGD, "lr-too-high")
    first = verdict(found)
    assert first is not None and first.name == "loss-summed-over-batch"
    assert [finding.symptom_of for finding in found if finding.name == "lr-too-high"] == [first.name]


@pytest.mark.parametrize(
    ("graph", "values", "by"),
    [
        (by_function(reduction="mean"), EXPLODING, SGD),
        (by_function(), FALLING, SGD),
        (by_function(), EXPLODING, optimizer("Adam", 0.05)),
        (by_function(), EXPLODING, optimizer("SGD", 5.0)),
        (by_function(), EXPLODING, optimizer("SGD", 1e-5)),
        (chain(("Div", ()), ("Sum", ()), ("Pow", (128, 1))), EXPLODING, SGD),
        (chain(("Sum", ()), ("Stack", (12,)), ("Mean", ())), EXPLODING, SGD),
    ],
    ids=["mean", "falls", "adam", "any rate", "tiny rate", "divided", "a few losses"],
)
def test_other_runs_are_silent(graph: LossGraph, values: list[float], by: OptimizerFact) -> None:
    assert not check(graph, values, by)
