from __future__ import annotations

import dataclasses

import pytest

from tests.fakes import judged, model, place
from torch_debugger.records import Comparison, Finding, GraphNode, LossGraph, Place, Record
from torch_debugger.records.loss import Spread

NET = model({"net": "Net", "net.out": "Linear", "net.act": "ReLU"}, {"net.out.weight": (1, 8)})
RETURN = place(15, code="return self.act(self.out(x))")


def graph(*ops: str, returned: Place | None = RETURN) -> LossGraph:
    """The first op is the loss; each takes the next."""
    nodes = tuple(
        GraphNode(op, (64, 1), (index + 1,), place=returned if op == "Relu" else None) for index, op in enumerate(ops)
    )
    leaf = GraphNode("torch::autograd::AccumulateGrad", (1, 8), (), parameter="net.out.weight")
    return LossGraph("loss", place(30, code="loss.backward()"), 0.5, (*nodes, leaf), (), 1)


def targets(below_zero: float) -> Comparison:
    spread = Spread(-1.0, 1.0, 0.0, 0.5)
    return Comparison("loss", 1, "MseLoss", place(29), (64, 1), spread, spread, 0.0, below_zero, 0.0)


def check(*records: Record) -> list[Finding]:
    return judged([NET, *records], "relu-after-output")


def test_negative_targets_behind_a_relu_name_the_return_and_its_edit() -> None:
    (finding,) = check(graph("MseLoss", "Relu", "Addmm"), targets(0.5))
    assert finding.message == (
        "The model's output goes through a ReLU into the squared error to targets of which 50% lie below 0: "
        "it can never be negative."
    )
    assert finding.edit is not None and finding.edit.after == "return self.out(x)"
    assert (finding.severity, finding.where.line) == ("error", 15)


@pytest.mark.parametrize(
    ("ops", "loss"),
    [
        (("NllLoss", "LogSoftmax", "Relu", "Addmm"), "cross-entropy, which needs scores of either sign"),
        (("BinaryCrossEntropyWithLogits", "Squeeze", "Relu", "Addmm"), "binary cross-entropy on logits"),
    ],
)
def test_scores_for_a_classification_loss(ops: tuple[str, ...], loss: str) -> None:
    (finding,) = check(graph(*ops, returned=None))
    assert loss in finding.message
    assert (finding.where.module, finding.where.line) == ("net.act", 12), "the module where no line returns it"
    assert finding.fix.startswith("Leave out the ReLU")


@pytest.mark.parametrize(
    "healthy",
    [
        [graph("MseLoss", "Relu", "Addmm")],
        [graph("MseLoss", "Relu", "Addmm"), targets(0.01)],
        [graph("NllLoss", "LogSoftmax", "Mean", "Relu", "Convolution")],
        [graph("NllLoss", "LogSoftmax", "Addmm", "Relu")],
    ],
    ids=["targets unknown", "hardly any below zero", "averaged class maps", "a hidden layer"],
)
def test_a_relu_that_may_stand_there_is_silent(healthy: list[Record]) -> None:
    assert not check(*healthy)


def test_an_absolute_difference_written_by_hand_counts_as_well() -> None:
    ops = ("Mean", "Abs", "Sub", "Relu", "Addmm")
    told = graph(*ops)
    nodes = [dataclasses.replace(node, inputs=(3, None)) if node.op == "Sub" else node for node in told.nodes]
    (finding,) = check(dataclasses.replace(told, nodes=tuple(nodes)), targets(0.5))
    assert "into the absolute error to targets of which 50% lie below 0" in finding.message
    assert not check(told, targets(0.5)), "both sides are made by models"
