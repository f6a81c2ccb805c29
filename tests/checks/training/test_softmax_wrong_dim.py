from __future__ import annotations

import pytest

from tests.checks.graphs import loss_graph, node
from tests.fakes import judged
from torch_debugger.records import Finding, GraphNode, Place, Record, WeightedSum


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


def test_classes_that_are_picked_by_gather_or_by_an_index_count_as_well() -> None:
    (finding,) = check(graph(node("Gather", (48, 1), 1, dim=1), shape=(48, 5), dim=0))
    assert finding.message.endswith("but the loss picks one of 5 classes along dim=1.")
    assert check(graph(node("Index", (48,), 1), shape=(48, 5), dim=0))
    assert not check(graph(node("Gather", (48, 1), 1, dim=1), shape=(48, 5), dim=1))
    assert not check(graph(node("Gather", (1, 5), 1, dim=0), shape=(48, 5), dim=0))
    assert not check(graph(node("Index", (5,), 1), shape=(48, 5), dim=0))


def test_log_probabilities_over_the_batch_are_seen_behind_cross_entropy() -> None:
    above = node("NllLoss", (), 1), node("LogSoftmax", (48, 5), 2, dim=1)
    assert check(graph(*above, shape=(48, 5), dim=0))
    assert not check(graph(*above, shape=(48, 5), dim=1))


def weights(
    shape: tuple[int, ...], dim: int, summed: int, of_pairs: bool = False, samples_first: bool = True
) -> WeightedSum:
    return WeightedSum(shape, dim, (summed,), of_pairs, samples_first, Place("train.py", 12), 1)


def test_attention_weights_that_add_up_to_one_over_the_batch_are_an_error() -> None:
    (finding,) = check(weights((32, 20, 1), dim=0, summed=1))
    assert finding.severity == "error"
    assert finding.message == (
        "The weights of the softmax at train.py:12 add up to 1 over the batch (dim=0) of (32, 20, 1), but the "
        "values they weigh are added up over dim=1."
    )
    assert finding.fix == "Write `dim=1` in place of `dim=0` in the softmax at train.py:12."
    assert finding.where.line == 12


@pytest.mark.parametrize(
    ("look", "over"),
    [
        (weights((8, 4, 10, 10), dim=1, summed=3, of_pairs=True), "the heads"),
        (weights((8, 4, 10, 10), dim=2, summed=3, of_pairs=True), "the queries"),
        (weights((8, 10, 12), dim=0, summed=2, of_pairs=True, samples_first=False), "the batch"),
    ],
    ids=["heads", "queries", "batch"],
)
def test_attention_of_queries_and_keys_is_judged_by_its_product(look: WeightedSum, over: str) -> None:
    (finding,) = check(look, look)
    assert f"over {over} (dim={look.dim})" in finding.message


@pytest.mark.parametrize(
    "healthy",
    [
        weights((16, 40), dim=0, summed=1, samples_first=False),
        weights((32, 6, 50), dim=1, summed=2),
        weights((32, 32), dim=0, summed=1),
        weights((8, 6, 50), dim=1, summed=2, of_pairs=True),
        weights((32, 1), dim=0, summed=1),
    ],
    ids=["clusters without a batch", "clusters share out points", "square", "slots", "nothing to weigh"],
)
def test_weights_that_are_shared_out_on_purpose_are_silent(healthy: WeightedSum) -> None:
    assert not check(healthy)
