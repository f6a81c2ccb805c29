from __future__ import annotations

import dataclasses

import pytest

from tests.checks.graphs import loss_graph, node
from tests.fakes import findings_of, judged, losses, model, place
from torch_debugger.records import AutogradNode, Comparison, LossGraph, Place, Record
from torch_debugger.records.loss import Spread

NAME = "norm-after-output"
NORM_NET = model({"net": "Net", "net.head": "Linear", "net.norm": "LayerNorm"})
STUCK = losses([1.0 - 0.002 * step for step in range(60)])


def norm_graph(features: int, *losing: str, norm: str = "NativeLayerNorm") -> LossGraph:
    shape = (32, features)
    errors = [node(op, () if index == 0 else shape, index + 1) for index, op in enumerate(losing)]
    last = len(errors)
    return loss_graph(
        *errors,
        node(norm, shape, last + 2, last + 1),
        node("AccumulateGrad", (features,), parameter="net.norm.weight"),
        node("Addmm", shape, None),
    )


def test_one_output_that_is_always_the_same() -> None:
    (finding,) = judged([NORM_NET, norm_graph(1, "MseLoss"), *STUCK], NAME)
    assert finding.message == (
        "`net.norm` (LayerNorm) makes the same number of every output, right in front of the squared error. "
        "The loss has fallen by 11%."
    )
    assert (finding.severity, finding.where.line) == ("error", 12)
    assert finding.fix == "Remove `net.norm` (LayerNorm), or put it in front of the last layer."


def test_a_few_outputs_and_an_error_written_by_hand() -> None:
    (finding,) = judged([NORM_NET, norm_graph(3, "Mean", "Pow", "Sub"), *STUCK], NAME)
    assert finding.severity == "warning"
    assert "makes all 3 outputs of a sample have mean 0 and deviation 1" in finding.message


def test_many_features_other_norms_classes_and_a_loss_that_falls_are_silent() -> None:
    assert not judged([NORM_NET, norm_graph(64, "MseLoss"), *STUCK], NAME)
    assert not judged([NORM_NET, norm_graph(3, "MseLoss", norm="NativeBatchNorm"), *STUCK], NAME)
    assert not judged([NORM_NET, norm_graph(3, "NllLoss", "LogSoftmax"), *STUCK], NAME)
    assert not judged([NORM_NET, norm_graph(3, "MseLoss"), *losses([0.9**step for step in range(60)])], NAME)


RELU_NET = model({"net": "Net", "net.out": "Linear", "net.act": "ReLU"}, {"net.out.weight": (1, 8)})
RETURN = place(15, code="return self.act(self.out(x))")


def relu_graph(*ops: str, returned: Place | None = RETURN) -> LossGraph:
    """The first op is the loss; each takes the next."""
    nodes = tuple(
        AutogradNode(op, (64, 1), (index + 1,), place=returned if op == "Relu" else None)
        for index, op in enumerate(ops)
    )
    leaf = AutogradNode("torch::autograd::AccumulateGrad", (1, 8), (), parameter="net.out.weight")
    return LossGraph("loss", place(30, code="loss.backward()"), 0.5, (*nodes, leaf), (), 1)


def targets(below_zero: float) -> Comparison:
    spread = Spread(-1.0, 1.0, 0.0, 0.5)
    return Comparison("loss", 1, "MseLoss", place(29), (64, 1), spread, spread, 0.0, below_zero, 0.0)


check = findings_of("relu-after-output", RELU_NET)


def test_negative_targets_behind_a_relu_name_the_return_and_its_edit() -> None:
    (finding,) = check(relu_graph("MseLoss", "Relu", "Addmm"), targets(0.5))
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
    (finding,) = check(relu_graph(*ops, returned=None))
    assert loss in finding.message
    assert (finding.where.module, finding.where.line) == ("net.act", 12), "the module where no line returns it"
    assert finding.fix.startswith("Leave out the ReLU")


@pytest.mark.parametrize(
    "healthy",
    [
        [relu_graph("MseLoss", "Relu", "Addmm")],
        [relu_graph("MseLoss", "Relu", "Addmm"), targets(0.01)],
        [relu_graph("NllLoss", "LogSoftmax", "Mean", "Relu", "Convolution")],
        [relu_graph("NllLoss", "LogSoftmax", "Addmm", "Relu")],
    ],
    ids=["targets unknown", "hardly any below zero", "averaged class maps", "a hidden layer"],
)
def test_a_relu_that_may_stand_there_is_silent(healthy: list[Record]) -> None:
    assert not check(*healthy)


def test_an_absolute_difference_written_by_hand_counts_as_well() -> None:
    ops = ("Mean", "Abs", "Sub", "Relu", "Addmm")
    told = relu_graph(*ops)
    nodes = [dataclasses.replace(node, inputs=(3, None)) if node.op == "Sub" else node for node in told.nodes]
    (finding,) = check(dataclasses.replace(told, nodes=tuple(nodes)), targets(0.5))
    assert "into the absolute error to targets of which 50% lie below 0" in finding.message
    assert not check(told, targets(0.5)), "both sides are made by models"
