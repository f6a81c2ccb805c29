from __future__ import annotations

import pytest

from tests.checks.graphs import Shape, chain, loss_graph, node
from tests.fakes import findings_of, only, tensor
from torch_debugger.records import AutogradNode, LossGraph, Record

MODEL = node("Addmm", (8, 1))
NAMES = (tensor("x", (8, 3)), tensor("y", (8,)), tensor("pred", (8, 1), requires_grad=True))
broadcast = findings_of("loss-broadcast")


def built_in(loss: str = "MseLoss", given: tuple[int, ...] = (8, 1), made: tuple[int, ...] = (8, 8)) -> LossGraph:
    """F.mse_loss and its kin expand both operands first."""
    return loss_graph(node(loss, (), 1, None), node("Expand", made, 2), node("Addmm", given), tensors=NAMES)


def by_hand(*operands: int | None, model: AutogradNode = MODEL) -> LossGraph:
    """((pred - y) ** 2).mean()"""
    return loss_graph(node("Mean", (), 1), node("Pow", (8, 8), 2), node("Sub", (8, 8), *operands), model)


def test_mse_of_a_column_and_a_row_names_both_and_their_shapes() -> None:
    (finding,) = broadcast(built_in())
    assert finding.message == (
        "The loss at train.py:40 compares every prediction with every target: "
        "`pred` (8, 1) and `y` (8,) broadcast to 8 x 8 values."
    )
    assert finding.fix == ("Use `pred.squeeze(1)` in the loss, or `y.unsqueeze(1)`, so that both have one shape.")
    assert finding.evidence["broadcast_shape"] == "(8, 8)"
    assert (finding.severity, finding.confidence) == ("error", 0.97)


def test_a_flat_prediction_against_a_column_squeezes_the_target() -> None:
    names = (tensor("out", (8,), requires_grad=True), tensor("x", (8, 1)), tensor("target", (8, 1)))
    graph = loss_graph(node("MseLoss", (), 1, None), node("Expand", (8, 8), 2), node("Squeeze", (8,)), tensors=names)
    assert only(broadcast(graph)).fix.startswith("Use `target.squeeze(1)` in the loss, or `out.unsqueeze(1)`")


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
    (finding,) = broadcast(graph)
    assert finding.where.line == 39
    assert (finding.edit.after if finding.edit else None) == after


def test_indices_are_not_taken_for_the_target() -> None:
    names = (tensor("batch", (8,), dtype="int64"), tensor("guess", (8, 1), requires_grad=True))
    graph = loss_graph(node("MseLoss", (), 1, None), node("Expand", (8, 8), 2), MODEL, tensors=names)
    assert "`guess` (8, 1) and the target (8,)" in broadcast(graph)[0].message


@pytest.mark.parametrize("loss", ["MseLoss", "SmoothL1Loss", "HuberLoss"])
def test_every_loss_that_expands_is_known(loss: str) -> None:
    assert broadcast(built_in(loss))


def test_l1_loss_and_losses_written_by_hand() -> None:
    l1 = loss_graph(
        node("Mean", (), 1), node("Abs", (8, 8), 2), node("Sub", (8, 8), 3, None), node("Expand", (8, 8), 4), MODEL
    )
    assert broadcast(l1) and broadcast(by_hand(3, None)) and broadcast(by_hand(None, 3))


def test_segmentation_masks_without_a_channel() -> None:
    (finding,) = broadcast(built_in("MseLoss", (4, 1, 16, 16), (4, 4, 16, 16)))
    assert "the prediction (4, 1, 16, 16) and the target (4, 16, 16)" in finding.message
    assert finding.confidence == 0.88


def test_broadcasts_that_mean_something_else_are_silent() -> None:
    # equal shapes and a batch of one
    assert not broadcast(loss_graph(node("MseLoss", (), 1, None), MODEL, tensors=NAMES))
    assert not broadcast(built_in("MseLoss", (1, 1), (1, 1)))
    spread = loss_graph(
        node("Mean", (), 1),
        node("Mul", (8, 8), 2, None),
        node("Exp", (8,), 3),
        node("AccumulateGrad", (8,), parameter="policy.log_std"),
    )
    assert not broadcast(spread), "a learned vector as long as the batch is no prediction"
    gate = loss_graph(
        node("MseLoss", (), 1, None), node("Addmm", (8, 1), 2), node("Mul", (8, 8), 3, None), node("Sigmoid", (8, 1))
    )
    assert not broadcast(gate), "broadcasting inside the model is the models business"
    graph = loss_graph(node("Mean", (), 1), node("Mul", (8, 5), 2, None), MODEL)
    assert not broadcast(graph), "a constant row of another length"
    # an operand that was not read
    assert not broadcast(loss_graph(node("Mean", (), 1), node("Sub", (8, 8), 70, None)))


def test_losses_over_pairs_are_silent() -> None:
    both = loss_graph(
        node("Mean", (), 1), node("Pow", (8, 8), 2), node("Sub", (8, 8), 3, 4), MODEL, node("Permute", (1, 8), 3)
    )
    on_purpose = by_hand(3, None, model=node("Unsqueeze", (8, 1)))
    assert not broadcast(both) and not broadcast(on_purpose)


scrambled = findings_of("scores-scrambled-by-view")


def sequence(given: Shape, viewed: Shape, by: str = "View") -> Record:
    batch, classes, length = viewed
    return chain(
        ("NllLoss2D", ()), ("View", (batch, classes, 1, length)), ("LogSoftmax", viewed), (by, viewed),
        ("Addmm", given),
    )  # fmt: skip


def flat(given: Shape, viewed: Shape) -> Record:
    return chain(("NllLoss", ()), ("LogSoftmax", viewed), ("View", viewed), ("Convolution", given))


def test_a_view_in_place_of_a_transpose_is_an_error() -> None:
    (finding,) = scrambled(sequence((32, 24, 17), (32, 17, 24)))
    assert finding.severity == "error"
    assert finding.message == (
        "The scores of shape (32, 24, 17) reach the cross-entropy at train.py:40 through a view as "
        "(32, 17, 24): 17 classes and 24 places are mixed up."
    )
    assert finding.fix == "Use `.transpose(1, 2)` on the scores in place of the view."


def test_pictures_flattened_without_a_permute_are_an_error() -> None:
    (finding,) = scrambled(flat((8, 3, 16, 16), (2048, 3)))
    assert finding.fix.startswith("Use `.permute(0, 2, 3, 1).reshape(-1, 3)` on the scores")


@pytest.mark.parametrize(
    "healthy",
    [
        sequence((32, 24, 17), (32, 17, 24), by="Transpose"),
        sequence((32, 17, 17), (32, 17, 17)),
        flat((8, 16, 16, 3), (2048, 3)),
        flat((8, 3, 1, 1), (8, 3)),
        flat((16, 11, 7), (176, 7)),
        flat((8, 3, 16, 3), (384, 3)),
        chain(("MseLoss", ()), ("View", (2048, 3)), ("Convolution", (8, 3, 16, 16))),
    ],
    ids=["transposed", "square", "channels last", "one place", "tokens", "equal sizes", "no classes"],
)
def test_views_that_keep_the_order_are_silent(healthy: Record) -> None:
    assert not scrambled(healthy)
