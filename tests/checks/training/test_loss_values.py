from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.checks.training.loss_terms import comparison, targets
from tests.fakes import findings_of, judged, loss_site, losses, model, optimizer, place
from torch_debugger.checks.judge import verdict
from torch_debugger.records import (
    AutogradNode,
    CheckpointLoad,
    Finding,
    InputLook,
    LossGraph,
    OptimizerFact,
    Place,
    Record,
    SkippedLosses,
)

NET = model({"net": "Net", "net.head": "Linear"}, {"net.head.weight": (10, 64)})
GRAPH = loss_graph(
    node("NllLoss", (), 1), node("LogSoftmax", (64, 10), 2), node("Addmm", (64, 10), None, None, 3),
    node("T", (64, 10), 4), node("AccumulateGrad", (10, 64), parameter="net.head.weight"),
)  # fmt: skip
initial = findings_of("initial-loss-unexpected")


def first(surprise: float, **others: object) -> Record:
    return targets(surprise=surprise, shape=(64, 10), **others)  # type: ignore[arg-type]


def inputs(std: float, dtype: str = "float32") -> InputLook:
    return InputLook("net.fc", "Linear", (64, 8), dtype, (), 0, 9, 0, std, -1, 0.0, (), Place(), 1)


def test_a_first_loss_far_above_guessing_is_a_warning() -> None:
    (finding,) = initial(NET, first(25.8), GRAPH)
    assert finding.message == (
        "The first loss at train.py:39 is 25.8, and guessing among 10 classes would give 2.3: the scores of "
        "`net.head` start far too large."
    )
    assert finding.fix == "Start with small weights in `net.head`: `nn.init.normal_(net.head.weight, std=0.02)`."
    assert (finding.severity, finding.where.line) == ("warning", 11)


def test_the_line_that_fills_the_weights_by_hand_is_the_one_to_change() -> None:
    filled = place(16, code="nn.init.normal_(p, std=2.0)")
    (finding,) = initial(dataclasses.replace(NET, filled=filled), first(25.8), GRAPH)
    assert finding.where.line == 16
    assert finding.fix.endswith("std=0.02)` in place of `nn.init.normal_(p, std=2.0)`.")


def test_token_numbers_are_no_large_inputs() -> None:
    assert initial(NET, inputs(2000.0, "int64"), first(25.8), GRAPH)


@pytest.mark.parametrize(
    "records",
    [
        (first(2.4), GRAPH),
        (first(8.0), GRAPH),
        (first(25.8, step=4), GRAPH),
        (targets(3.0, 4.0, surprise=25.8), GRAPH),
        (first(25.8, total=4), GRAPH),
        (first(math.nan), GRAPH),
        (inputs(120.0), first(25.8), GRAPH),
        (first(25.8), CheckpointLoad("Net", place(9), 4, 4, 0, (), (), "head", "", Place(), 1), GRAPH),
    ],
    ids=["guessing", "a little more", "later", "no probabilities", "tiny batch", "NaN", "large inputs", "loaded"],
)
def test_other_first_losses_are_silent(records: tuple[Record, ...]) -> None:
    assert not initial(NET, *records)


EXPLODING = [246.0, 9e3, 4e7, 1e13, math.inf]
FALLING = [246.0 * 0.97**step for step in range(60)]
BY_HAND = chain(("Sum", ()), ("Pow", (128, 1)), ("Sub", (128, 1)), ("Addmm", (128, 1)))
SGD = optimizer("SGD", 0.05)


def by_function(op: str = "MseLoss", reduction: str = "sum", shape: tuple[int, ...] = (128, 1)) -> LossGraph:
    top: AutogradNode = dataclasses.replace(node(op, (), 1), saved={"reduction": reduction})
    return loss_graph(top, node("Addmm", shape))


def summed(graph: LossGraph, values: Iterable[float] = EXPLODING, by: OptimizerFact = SGD, *only: str) -> list[Finding]:
    records = [by, loss_site(), comparison(shape=(128, 1)), graph, *losses(values)]
    return judged(records, "loss-summed-over-batch", *only)


def test_a_sum_that_explodes_is_an_error() -> None:
    (finding,) = summed(by_function())
    assert finding.severity == "error"
    assert finding.message == (
        "The loss at train.py:40 is a sum over 128 numbers, and with `optimizer` (SGD, lr 0.05) it grows "
        "instead of falling: each step is as large as one at a rate of 6.4 for their mean."
    )
    assert finding.fix == "Take the mean in place of the sum at train.py:40; or set `lr` to 0.00039."


def test_a_sum_by_hand_is_seen_too() -> None:
    assert summed(BY_HAND)


def test_the_sum_is_the_cause_of_the_rate() -> None:
    found = summed(by_function(), EXPLODING, SGD, "lr-too-high")
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
    assert not summed(graph, values, by)


def skipped(*counts: int, steps: int = 100) -> list[Finding]:
    guard = place(18, code="if torch.isnan(loss):")
    told = [SkippedLosses("loss", count, 3 + number, guard) for number, count in enumerate(counts)]
    return judged([*told, *losses([1.0] * steps)], "nan-steps-skipped")


def test_many_steps_left_out_are_an_error() -> None:
    (finding,) = skipped(1, 2, 4, 8, 16, 32)
    assert finding.message == (
        "`loss` was not finite 32 times or more since step 3, and the script at train.py:18 went on without a "
        "backward(): 24% of all steps are left out."
    )
    assert finding.fix.startswith("Take the guard at train.py:18 out and run again")
    assert (finding.severity, finding.where.line) == ("error", 18)


def test_a_few_are_accepted() -> None:
    assert not skipped(1, 2)
    assert not skipped(1, 2, 4, 8, steps=500)
