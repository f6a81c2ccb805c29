from __future__ import annotations

import dataclasses
import math

import pytest

from tests.checks.graphs import loss_graph, node
from tests.checks.training.loss_terms import targets
from tests.fakes import judged, model, place
from torch_debugger.records import CheckpointLoad, Finding, InputLook, Place, Record

NET = model({"net": "Net", "net.head": "Linear"}, {"net.head.weight": (10, 64)})
GRAPH = loss_graph(
    node("NllLoss", (), 1), node("LogSoftmax", (64, 10), 2), node("Addmm", (64, 10), None, None, 3),
    node("T", (64, 10), 4), node("AccumulateGrad", (10, 64), parameter="net.head.weight"),
)  # fmt: skip


def check(*records: Record) -> list[Finding]:
    return judged(records, "initial-loss-unexpected")


def first(surprise: float, **others: object) -> Record:
    return targets(surprise=surprise, shape=(64, 10), **others)  # type: ignore[arg-type]


def inputs(std: float, dtype: str = "float32") -> InputLook:
    return InputLook("net.fc", "Linear", (64, 8), dtype, (), 0, 9, 0, std, -1, 0.0, (), Place(), 1)


def test_a_first_loss_far_above_guessing_is_a_warning() -> None:
    (finding,) = check(NET, first(25.8), GRAPH)
    assert finding.severity == "warning"
    assert finding.message == (
        "The first loss at train.py:39 is 25.8, and guessing among 10 classes would give 2.3: the scores of "
        "`net.head` start far too large."
    )
    assert finding.fix == "Start with small weights in `net.head`: `nn.init.normal_(net.head.weight, std=0.02)`."
    assert finding.where.line == 11


def test_the_line_that_fills_the_weights_by_hand_is_the_one_to_change() -> None:
    filled = place(16, code="nn.init.normal_(p, std=2.0)")
    (finding,) = check(dataclasses.replace(NET, filled=filled), first(25.8), GRAPH)
    assert finding.where.line == 16
    assert finding.fix.endswith("std=0.02)` in place of `nn.init.normal_(p, std=2.0)`.")


def test_token_numbers_are_no_large_inputs() -> None:
    assert check(NET, inputs(2000.0, "int64"), first(25.8), GRAPH)


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
    ids=[
        "guessing",
        "a little more",
        "later",
        "no probabilities",
        "tiny batch",
        "NaN",
        "large inputs",
        "loaded",
    ],
)
def test_other_first_losses_are_silent(records: tuple[Record, ...]) -> None:
    assert not check(NET, *records)
