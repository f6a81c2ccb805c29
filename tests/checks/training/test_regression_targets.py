from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.checks.training.loss_terms import comparison, spread
from tests.fakes import judged, loss_site, losses, model
from torch_debugger.records import AutogradNode, Comparison, Finding, LossGraph, Spread

PRICES = spread(100_000, 500_000, 312_000, 61_000)
SMALL = spread(-1, 2, 1.22, 0.3)


def look(step: int, target: Spread = PRICES, prediction: Spread = SMALL) -> Comparison:
    return comparison("MseLoss", step, target=target, prediction=prediction)


def off_scale(values: Iterable[float], *looks: Comparison) -> list[Finding]:
    return judged([loss_site(), *looks, *losses(values)], "regression-target-scale")


def falling(to: float, steps: int = 200) -> list[float]:
    return [1e11 * (1 - (1 - to) * step / steps) for step in range(steps)]


def test_outputs_that_never_get_to_the_targets_are_a_warning() -> None:
    (finding,) = off_scale(falling(0.97), look(1), look(23))
    assert finding.severity == "warning"
    assert finding.message == (
        "The targets of the loss at train.py:39 are around 3.12e+05 (std 6.1e+04), the outputs around 1.22 at "
        "step 23, and in 200 steps the loss lost 3%."
    )
    assert finding.fix.startswith("Train on `(target - 3.12e+05) / 6.1e+04`")


def test_late_looks_and_differences_written_by_hand_count() -> None:
    # without a mean a late look must confirm it
    wide = spread(-9e4, 9e4, 0, 4e4)
    assert off_scale(falling(0.97), look(1, wide), look(60, wide))
    assert not off_scale(falling(0.97), look(1, wide), look(23, wide))
    told = [comparison("Abs", step, target=PRICES, prediction=SMALL) for step in (1, 23)]
    assert off_scale(falling(0.97), *told), "an absolute difference written by hand is judged as well"


def test_a_run_that_gets_there_small_targets_and_short_runs_are_silent() -> None:
    # a run that gets there
    assert not off_scale(falling(0.3), look(1), look(60))
    assert not off_scale(falling(0.97), look(1), look(60, prediction=spread(2e5, 4e5, 3e5, 5e4)))
    # small targets and short runs
    assert not off_scale(falling(0.97), look(1, spread(-9, 30, 12, 4)), look(60, spread(-9, 30, 12, 4)))
    assert not off_scale(falling(0.99, steps=30), look(1), look(20))


NET = model({"net": "Net", "net.fc": "Linear"}, {"net.fc.weight": (1, 3)})
SIGMOID = chain(("MseLoss", ()), ("View", (64, 1)), ("Sigmoid", (64, 1)), ("Addmm", (64, 1)))
TANH = chain(("HuberLoss", ()), ("Tanh", (64, 1)), ("Addmm", (64, 1)))


def out_of_reach(graph: LossGraph, *looks: Comparison) -> list[Finding]:
    return judged([NET, graph, *looks], "targets-out-of-reach")


def looks(op: str = "MseLoss", low: float = -2.0, high: float = 2.5, **shares: float) -> list[Comparison]:
    return [comparison(op, step, target=spread(low, high), **shares) for step in (1, 2)]


def test_targets_beyond_a_sigmoid_are_an_error() -> None:
    (finding,) = out_of_reach(SIGMOID, *looks(below_zero=0.4, above_one=0.2))
    assert finding.message == (
        "The output of a sigmoid in the model lies between 0 and 1, but 60% of the targets of the loss at "
        "train.py:39 do not: they go from -2 to 2.5."
    )
    assert (finding.severity, finding.where.line) == ("error", 20)


def test_targets_beyond_a_tanh_are_an_error() -> None:
    assert out_of_reach(TANH, *looks("HuberLoss", below_minus_one=0.2, below_zero=0.5, above_one=0.2))


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
    assert not out_of_reach(graph, *comparisons)


def by_hand(other: int | None) -> LossGraph:
    """(tanh(...) - target) ** 2; `other` is the node of a second side that has a gradient."""
    nodes = [node("Mean", (), 1), node("Pow", (64, 1), 2), AutogradNode("Sub", (64, 1), (3, other))]
    return loss_graph(*nodes, node("Tanh", (64, 1), 4), node("Addmm", (64, 1)))


def test_a_squared_difference_is_an_error_measure_too() -> None:
    told = looks("Pow", below_minus_one=0.2, above_one=0.2)
    assert out_of_reach(by_hand(None), *told)
    assert not out_of_reach(by_hand(4), *told)
