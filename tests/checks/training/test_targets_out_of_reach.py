from __future__ import annotations

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.checks.training.loss_terms import comparison, spread
from tests.fakes import judged, model
from torch_debugger.records import Comparison, Finding, GraphNode, LossGraph

NET = model({"net": "Net", "net.fc": "Linear"}, {"net.fc.weight": (1, 3)})
SIGMOID = chain(("MseLoss", ()), ("View", (64, 1)), ("Sigmoid", (64, 1)), ("Addmm", (64, 1)))
TANH = chain(("HuberLoss", ()), ("Tanh", (64, 1)), ("Addmm", (64, 1)))


def check(graph: LossGraph, *looks: Comparison) -> list[Finding]:
    return judged([NET, graph, *looks], "targets-out-of-reach")


def looks(op: str = "MseLoss", low: float = -2.0, high: float = 2.5, **shares: float) -> list[Comparison]:
    return [comparison(op, step, target=spread(low, high), **shares) for step in (1, 2)]


def test_targets_beyond_a_sigmoid_are_an_error() -> None:
    (finding,) = check(SIGMOID, *looks(below_zero=0.4, above_one=0.2))
    assert finding.severity == "error"
    assert finding.message == (
        "The output of a sigmoid in the model lies between 0 and 1, but 60% of the targets of the loss at "
        "train.py:39 do not: they go from -2 to 2.5."
    )
    assert finding.where.line == 20


def test_targets_beyond_a_tanh_are_an_error() -> None:
    assert check(TANH, *looks("HuberLoss", below_minus_one=0.2, below_zero=0.5, above_one=0.2))


@pytest.mark.parametrize(
    ("graph", "comparisons"),
    [
        (SIGMOID, looks(low=0.0, high=1.0)),
        (SIGMOID, looks(low=-0.05, high=1.1, below_zero=0.3, above_one=0.3)),
        (SIGMOID, looks(above_one=0.02)),
        (SIGMOID, looks(below_zero=0.4, above_one=0.2)[:1]),
        (TANH, looks("HuberLoss", low=-1.0, high=1.0, below_zero=0.5)),
        (chain(("MseLoss", ()), ("Mul", (64, 1)), ("Sigmoid", (64, 1))), looks(below_zero=0.4)),
        (chain(("MseLoss", ()), ("Addmm", (64, 1))), looks(below_zero=0.4)),
    ],
    ids=["in range", "noise at the edge", "a few", "one look", "tanh", "scaled behind it", "no activation"],
)
def test_targets_in_reach_are_silent(graph: LossGraph, comparisons: list[Comparison]) -> None:
    assert not check(graph, *comparisons)


def by_hand(other: int | None) -> LossGraph:
    """(tanh(...) - target) ** 2; `other` is the node of a second side that has a gradient."""
    nodes = [node("Mean", (), 1), node("Pow", (64, 1), 2), GraphNode("Sub", (64, 1), (3, other))]
    return loss_graph(*nodes, node("Tanh", (64, 1), 4), node("Addmm", (64, 1)))


def test_a_squared_difference_is_an_error_measure_too() -> None:
    told = looks("Pow", below_minus_one=0.2, above_one=0.2)
    assert check(by_hand(None), *told)
    assert not check(by_hand(4), *told)
