from __future__ import annotations

import pytest

from tests.checks.graphs import loss_graph, node
from tests.fakes import judged, model
from torch_debugger.records import Finding, GraphNode, LossGraph

NET = model({"net": "Net", "net.fc": "Linear"}, {"net.fc.weight": (5, 3)})


def twice(outer: int = 1, inner: int = 1, *between: GraphNode) -> LossGraph:
    start = [node("NllLoss", (), 1), node("LogSoftmax", (8, 5), 2, dim=outer), *between]
    last = len(start)
    return loss_graph(*start, node("LogSoftmax", (8, 5), last + 1, dim=inner), node("Addmm", (8, 5)))


def check(graph: LossGraph) -> list[Finding]:
    return judged([NET, graph], "log-softmax-twice")


def test_a_second_log_softmax_is_a_note() -> None:
    (finding,) = check(twice())
    assert finding.severity == "note"
    assert finding.message == (
        "The loss behind backward() at train.py:40 takes the log-softmax of a log_softmax in the model a "
        "second time; the loss is the same without it."
    )
    assert finding.fix.endswith("pass raw scores to the loss, or call `nll_loss` instead.")
    assert check(twice(1, -1)), "the same dimension, counted from the end"


@pytest.mark.parametrize(
    "healthy",
    [
        twice(1, 0),
        twice(1, 1, node("Add", (8, 5), 3)),
        loss_graph(node("NllLoss", (), 1), node("LogSoftmax", (8, 5), 2, dim=1), node("Addmm", (8, 5))),
    ],
    ids=["another dimension", "changed between", "once"],
)
def test_other_chains_are_silent(healthy: LossGraph) -> None:
    assert not check(healthy)
