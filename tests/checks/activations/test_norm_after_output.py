from __future__ import annotations

from tests.checks.graphs import loss_graph, node
from tests.fakes import judged, losses, model
from torch_debugger.records import LossGraph

NAME = "norm-after-output"
NET = model({"net": "Net", "net.head": "Linear", "net.norm": "LayerNorm"})
STUCK = losses([1.0 - 0.002 * step for step in range(60)])


def graph(features: int, *losing: str, norm: str = "NativeLayerNorm") -> LossGraph:
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
    (finding,) = judged([NET, graph(1, "MseLoss"), *STUCK], NAME)
    assert finding.message == (
        "`net.norm` (LayerNorm) makes the same number of every output, right in front of the squared error. "
        "The loss has fallen by 11%."
    )
    assert (finding.severity, finding.where.line) == ("error", 12)
    assert finding.fix == "Remove `net.norm` (LayerNorm), or put it in front of the last layer."


def test_a_few_outputs_and_an_error_written_by_hand() -> None:
    (finding,) = judged([NET, graph(3, "Mean", "Pow", "Sub"), *STUCK], NAME)
    assert finding.severity == "warning"
    assert "makes all 3 outputs of a sample have mean 0 and deviation 1" in finding.message


def test_many_features_other_norms_classes_and_a_loss_that_falls_are_silent() -> None:
    assert not judged([NET, graph(64, "MseLoss"), *STUCK], NAME)
    assert not judged([NET, graph(3, "MseLoss", norm="NativeBatchNorm"), *STUCK], NAME)
    assert not judged([NET, graph(3, "NllLoss", "LogSoftmax"), *STUCK], NAME)
    assert not judged([NET, graph(3, "MseLoss"), *losses([0.9**step for step in range(60)])], NAME)
