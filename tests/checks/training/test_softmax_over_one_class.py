from __future__ import annotations

import pytest

from tests.checks.graphs import loss_graph, node
from tests.fakes import judged
from torch_debugger.records import Finding, GraphNode, Place, Record, WeightedSum


def check(*nodes: GraphNode) -> list[Finding]:
    graph: Record = loss_graph(*nodes)
    return judged([graph], "softmax-over-one-class")


def test_cross_entropy_over_one_output_is_an_error() -> None:
    (finding,) = check(
        node("Neg", (), 1), node("Sum", (), 2), node("Mul", (50, 1), 3, None),
        node("LogSoftmax", (50, 1), 4, dim=1), node("Addmm", (50, 1)),
    )  # fmt: skip
    assert finding.severity == "error"
    assert finding.message == (
        "The loss at train.py:40 takes a softmax over one score ((50, 1)): the result is 1 whatever the model "
        "says, so no gradient flows."
    )
    assert "nn.BCEWithLogitsLoss()" in finding.fix


def test_a_softmax_over_one_output_in_front_of_a_binary_loss_is_an_error() -> None:
    assert check(
        node("BinaryCrossEntropy", (), 1), node("Squeeze", (50,), 2), node("Softmax", (50, 1), 3, dim=1),
        node("Addmm", (50, 1)),
    )  # fmt: skip


@pytest.mark.parametrize(
    "nodes",
    [
        (node("NllLoss", (), 1), node("LogSoftmax", (50, 2), 2, dim=1), node("Addmm", (50, 2))),
        (node("NllLoss", (), 1), node("LogSoftmax", (1, 1), 2, dim=1), node("Mm", (1, 1))),
        (
            node("MseLoss", (), 1),
            node("Bmm", (50, 4), 2),
            node("Softmax", (50, 1), 3, dim=1),
            node("Mm", (50, 1)),
        ),
    ],
    ids=["two classes", "a batch of one", "attention over one item"],
)
def test_other_softmaxes_are_silent(nodes: tuple[GraphNode, ...]) -> None:
    assert not check(*nodes)


def test_attention_weights_that_are_all_one() -> None:
    look = WeightedSum((32, 20, 1), 2, (1,), False, True, Place("train.py", 15), 1)
    (finding,) = judged([look, look], "softmax-over-one-class")
    assert finding.message == (
        "The softmax at train.py:15 runs over dim=2 of (32, 20, 1), which holds one number: every weight is 1, "
        "and the values they weigh are added up over dim=1."
    )
    assert finding.fix == "Write `dim=1` in place of `dim=2` in the softmax at train.py:15."
    assert not judged([look], "softmax-over-one-class"), "once may be a sequence of one"
    alone = WeightedSum((32, 1, 1), 2, (1,), False, True, Place("train.py", 15), 1)
    assert not judged([alone, alone], "softmax-over-one-class")
