from __future__ import annotations

import pytest

from tests.checks.graphs import loss_graph, node
from tests.fakes import judged
from torch_debugger.records import Finding, GraphNode, Record


def check(*records: Record) -> list[Finding]:
    return judged(records, "softmax-wrong-dim")


def graph(*above: GraphNode, shape: tuple[int, ...], dim: int, op: str = "LogSoftmax") -> Record:
    """`above`, then a softmax of this shape over this dimension, then a layer."""
    last = len(above)
    return loss_graph(*above, node(op, shape, last + 1, dim=dim), node("Addmm", shape))


def test_a_softmax_over_the_batch_is_an_error() -> None:
    (finding,) = check(graph(node("NllLoss", (), 1), shape=(48, 5), dim=0))
    assert finding.severity == "error"
    assert finding.message == (
        "The log_softmax at train.py:40 runs over the batch (dim=0) of (48, 5), but the loss picks one of "
        "5 classes along dim=1."
    )
    assert finding.fix == "Write `dim=1` in place of `dim=0` in a log_softmax in the model."


def test_a_softmax_over_time_is_seen_through_the_view_that_flattens_tokens() -> None:
    (finding,) = check(graph(node("NllLoss", (), 1), node("View", (176, 7), 2), shape=(16, 11, 7), dim=1))
    assert "along dim=2" in finding.message


def test_the_log_of_a_softmax_counts_as_well() -> None:
    assert check(graph(node("NllLoss", (), 1), node("Log", (48, 5), 2), shape=(48, 5), dim=0, op="Softmax"))


@pytest.mark.parametrize(
    "healthy",
    [
        graph(node("NllLoss", (), 1), shape=(48, 5), dim=1),
        graph(node("NllLoss", (), 1), shape=(48, 5), dim=-1),
        graph(node("NllLoss", (), 1), shape=(40, 40), dim=0),
        graph(node("NllLoss", (), 1), node("T", (48, 5), 2), shape=(5, 48), dim=0),
        graph(node("NllLoss", (), 1), node("View", (176, 7), 2), shape=(16, 11, 7), dim=2),
        graph(node("NllLoss2D", (), 1), node("View", (2, 5, 1, 7), 2), shape=(2, 5, 7), dim=1),
        graph(node("Mean", (), 1), shape=(48, 5), dim=0),
    ],
    ids=["classes", "last", "square", "transposed", "flattened", "sequence", "no likelihood"],
)
def test_healthy_softmaxes_are_silent(healthy: Record) -> None:
    assert not check(healthy)
