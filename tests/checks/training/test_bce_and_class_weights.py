from __future__ import annotations

import dataclasses
import math

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.checks.training.loss_terms import comparison, spread, targets
from tests.fakes import findings_of, model, only, place
from torch_debugger.records import Comparison, LossGraph, ModuleFact, Record

BCE = "BinaryCrossEntropyWithLogits"
out_of_range = findings_of("binary-targets-out-of-range")


def signed_labels() -> Comparison:
    return comparison(BCE, target=spread(-1, 1, 0.1, 1.0), below_zero=0.44)


def test_labels_of_minus_one_are_an_error() -> None:
    (finding,) = out_of_range(signed_labels())
    assert finding.message == (
        "The binary cross-entropy at train.py:39 gets targets from -1 to 1: 44% of them lie outside of 0 to 1."
    )
    assert finding.fix == "Bring the targets to 0 and 1: `(target + 1) / 2`."
    assert (finding.severity, finding.where) == ("error", place(39))


@pytest.mark.parametrize(
    ("low", "high", "words"), [(1, 2, "`target - 1`"), (0, 255, "`target / 255`"), (-2.1, 2.6, "nn.MSELoss()")]
)
def test_the_fix_suits_the_range(low: float, high: float, words: str) -> None:
    assert words in only(out_of_range(comparison("BinaryCrossEntropy", target=spread(low, high), above_one=0.5))).fix


@pytest.mark.parametrize(
    "healthy",
    [
        comparison(BCE, target=spread(0, 1, 0.5, 0.5)),
        comparison(BCE, target=spread(0.0, 1.2, 0.5, 0.5), above_one=0.2),
        comparison(BCE, target=spread(0, 3, 0.5, 0.5), above_one=0.001),
        comparison("MseLoss", target=spread(-1, 1), below_zero=0.5),
    ],
    ids=["labels", "noisy labels of a GAN", "one odd label", "another loss"],
)
def test_other_targets_are_silent(healthy: Comparison) -> None:
    assert not out_of_range(healthy)


WEIGHTED = dataclasses.replace(
    node("NllLoss", (), 1), place=place(12, code="criterion = nn.CrossEntropyLoss(weight=w)")
)
GRAPH: LossGraph = loss_graph(WEIGHTED, node("LogSoftmax", (50, 3)))
COUNTS = (160.0, 30.0, 10.0)
inverted = findings_of("class-weights-inverted")


def looks(counts: tuple[float, ...], weights: tuple[float, ...], times: int = 3) -> list[Record]:
    return [targets(step=step, counts=counts, weights=weights) for step in range(1, times + 1)]


def test_weights_in_proportion_to_the_counts_are_an_error() -> None:
    (finding,) = inverted(GRAPH, *looks(COUNTS, (0.8, 0.15, 0.05)))
    assert finding.message == (
        "The class weights of the loss at train.py:12 follow the frequencies: class 0, 80% of the targets, "
        "weighs 0.8, and class 2, 5%, weighs 0.05."
    )
    assert (finding.severity, finding.where.line) == ("error", 12)


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
    assert not inverted(GRAPH, *looks(counts, weights))


def clicks(positive: float, pos_weight: float) -> list[Comparison]:
    coin = spread(0, 1, positive, math.sqrt(positive * (1 - positive)))
    return [comparison(BCE, step, target=coin, pos_weight=pos_weight) for step in range(1, 8)]


def test_a_pos_weight_of_positives_over_negatives_is_an_error() -> None:
    (finding,) = inverted(*clicks(0.1, 0.11))
    assert "has a pos_weight of 0.11 with 10% positive targets" in finding.message
    assert finding.fix == "Use negatives / positives: `pos_weight=torch.tensor([9])`."


@pytest.mark.parametrize(("positive", "pos_weight"), [(0.1, 9.0), (0.1, 1.0), (0.45, 0.82), (0.1, math.nan)])
def test_other_weights_of_the_positive_are_silent(positive: float, pos_weight: float) -> None:
    assert not inverted(*clicks(positive, pos_weight))


WRONG = chain((BCE, ()), ("Squeeze", (8,)), ("Sigmoid", (8, 1)), ("Addmm", (8, 1)))
NET = model({"net": "Net", "net.fc": "Linear"}, {"net.fc.weight": (1, 3)})
sigmoid_twice = findings_of("sigmoid-before-bce-with-logits")


def test_a_sigmoid_in_front_of_the_loss_is_an_error() -> None:
    (finding,) = sigmoid_twice(NET, WRONG)
    assert finding.message == (
        "The loss behind backward() at train.py:40 takes the output of a sigmoid in the model for logits: "
        "the scores go through a sigmoid twice."
    )
    assert finding.fix.startswith("Remove a sigmoid in the model and pass the raw scores to the loss")
    assert (finding.severity, finding.where.line, finding.where.module) == ("error", 20, "net")


def test_a_sigmoid_module_is_named_with_its_line_and_edit() -> None:
    last = ModuleFact("net.1", "Sigmoid", place(14, code="nn.Sigmoid(),"))
    (finding,) = sigmoid_twice(dataclasses.replace(NET, modules=(*NET.modules, last)), WRONG)
    assert (finding.where.line, finding.where.module) == (14, "net.1")
    assert finding.edit is not None and finding.edit.after == "nn.Identity(),"


@pytest.mark.parametrize(
    "healthy",
    [
        chain((BCE, ()), ("Addmm", (8, 1))),
        chain(("BinaryCrossEntropy", ()), ("Sigmoid", (8, 1)), ("Addmm", (8, 1))),
        chain((BCE, ()), ("Mul", (8, 1)), ("Sigmoid", (8, 1)), ("Addmm", (8, 1))),
        chain((BCE, ()), ("Addmm", (8, 1)), ("Sigmoid", (8, 4)), ("Addmm", (8, 4))),
    ],
    ids=["logits", "bce of sigmoid", "gated", "hidden sigmoid"],
)
def test_healthy_uses_of_sigmoid_are_silent(healthy: Record) -> None:
    assert not sigmoid_twice(NET, healthy)
