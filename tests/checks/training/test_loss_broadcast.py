from __future__ import annotations

import pytest

from tests.checks.graphs import loss_graph, node
from tests.fakes import judged, tensor
from torch_debugger.records import Finding, GraphNode, LossGraph, Record

MODEL = node("Addmm", (8, 1))
NAMES = (tensor("x", (8, 3)), tensor("y", (8,)), tensor("pred", (8, 1), requires_grad=True))


def check(*records: Record) -> list[Finding]:
    return judged(records, "loss-broadcast")


def built_in(loss: str = "MseLoss", given: tuple[int, ...] = (8, 1), made: tuple[int, ...] = (8, 8)) -> LossGraph:
    """F.mse_loss and its kin expand both operands first."""
    return loss_graph(node(loss, (), 1, None), node("Expand", made, 2), node("Addmm", given), tensors=NAMES)


def by_hand(*operands: int | None, model: GraphNode = MODEL) -> LossGraph:
    """((pred - y) ** 2).mean()"""
    return loss_graph(node("Mean", (), 1), node("Pow", (8, 8), 2), node("Sub", (8, 8), *operands), model)


def test_mse_of_a_column_and_a_row_names_both_and_their_shapes() -> None:
    (finding,) = check(built_in())
    assert finding.severity == "error"
    assert finding.message == (
        "The loss at train.py:40 compares every prediction with every target: "
        "`pred` (8, 1) and `y` (8,) broadcast to 8 x 8 values."
    )
    assert finding.fix == ("Use `pred.squeeze(1)` in the loss, or `y.unsqueeze(1)`, so that both have one shape.")
    assert finding.evidence["broadcast_shape"] == "(8, 8)"
    assert finding.confidence == 0.97


def test_a_flat_prediction_against_a_column_squeezes_the_target() -> None:
    names = (tensor("out", (8,), requires_grad=True), tensor("x", (8, 1)), tensor("target", (8, 1)))
    graph = loss_graph(node("MseLoss", (), 1, None), node("Expand", (8, 8), 2), node("Squeeze", (8,)), tensors=names)
    (finding,) = check(graph)
    assert finding.fix.startswith("Use `target.squeeze(1)` in the loss, or `out.unsqueeze(1)`")


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("loss = criterion(pred, y)", "loss = criterion(pred.squeeze(1), y)"),
        ("loss = ((pred - y) ** 2).mean()", "loss = ((pred.squeeze(1) - y) ** 2).mean()"),
        ("loss = criterion(net(x), y)", "loss = criterion(net(x), y.unsqueeze(1))"),
        ("loss = criterion(net(x), y=y)", "loss = criterion(net(x), y=y.unsqueeze(1))"),
        ("loss = criterion(net(x), data[1])", None),
        ("loss = pred.sub(y[:]).square().mean() + pred.mean()", None),
    ],
)
def test_the_edit_reshapes_what_the_line_names_once(code: str, after: str | None) -> None:
    graph = loss_graph(node("MseLoss", (), 1, None), node("Expand", (8, 8), 2), MODEL, tensors=NAMES, code=code)
    (finding,) = check(graph)
    assert finding.where.line == 39
    assert (finding.edit.after if finding.edit else None) == after


def test_indices_are_not_taken_for_the_target() -> None:
    names = (tensor("batch", (8,), dtype="int64"), tensor("guess", (8, 1), requires_grad=True))
    graph = loss_graph(node("MseLoss", (), 1, None), node("Expand", (8, 8), 2), MODEL, tensors=names)
    assert "`guess` (8, 1) and the target (8,)" in check(graph)[0].message


@pytest.mark.parametrize("loss", ["MseLoss", "SmoothL1Loss", "HuberLoss"])
def test_every_loss_that_expands_is_known(loss: str) -> None:
    assert check(built_in(loss))


def test_l1_loss_and_losses_written_by_hand() -> None:
    l1 = loss_graph(
        node("Mean", (), 1),
        node("Abs", (8, 8), 2),
        node("Sub", (8, 8), 3, None),
        node("Expand", (8, 8), 4),
        MODEL,
    )
    assert check(l1) and check(by_hand(3, None)) and check(by_hand(None, 3))


def test_segmentation_masks_without_a_channel() -> None:
    (finding,) = check(built_in("MseLoss", (4, 1, 16, 16), (4, 4, 16, 16)))
    assert "the prediction (4, 1, 16, 16) and the target (4, 16, 16)" in finding.message
    assert finding.confidence == 0.88


def test_equal_shapes_and_a_batch_of_one_are_silent() -> None:
    assert not check(loss_graph(node("MseLoss", (), 1, None), MODEL, tensors=NAMES))
    assert not check(built_in("MseLoss", (1, 1), (1, 1)))


def test_losses_over_pairs_are_silent() -> None:
    both = loss_graph(
        node("Mean", (), 1),
        node("Pow", (8, 8), 2),
        node("Sub", (8, 8), 3, 4),
        MODEL,
        node("Permute", (1, 8), 3),
    )
    on_purpose = by_hand(3, None, model=node("Unsqueeze", (8, 1)))
    assert not check(both) and not check(on_purpose)


def test_a_learned_vector_as_long_as_the_batch_is_no_prediction() -> None:
    spread = loss_graph(
        node("Mean", (), 1),
        node("Mul", (8, 8), 2, None),
        node("Exp", (8,), 3),
        node("AccumulateGrad", (8,), parameter="policy.log_std"),
    )
    assert not check(spread)


def test_broadcasting_inside_the_model_is_the_models_business() -> None:
    gate = loss_graph(
        node("MseLoss", (), 1, None),
        node("Addmm", (8, 1), 2),
        node("Mul", (8, 8), 3, None),
        node("Sigmoid", (8, 1)),
    )
    assert not check(gate)


def test_a_constant_row_of_another_length_is_silent() -> None:
    graph = loss_graph(node("Mean", (), 1), node("Mul", (8, 5), 2, None), MODEL)
    assert not check(graph)


def test_an_operand_that_was_not_read_is_silent() -> None:
    assert not check(loss_graph(node("Mean", (), 1), node("Sub", (8, 8), 70, None)))
