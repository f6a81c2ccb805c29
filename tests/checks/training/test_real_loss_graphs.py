"""The two checks of the loss graph, on graphs as autograd really builds them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.fakes import judged, place
from torch_debugger.model.autograd_graph import read_nodes
from torch_debugger.probes.loss_graph import local_tensors
from torch_debugger.records import LossGraph

BATCH, CLASSES = 8, 5


def scores() -> Tensor:
    return torch.nn.Linear(3, CLASSES)(torch.randn(BATCH, 3))


def column() -> Tensor:
    return torch.nn.Linear(3, 1)(torch.randn(BATCH, 3))


def softmax() -> Tensor:
    return F.softmax(scores(), dim=1)


LABELS = torch.arange(BATCH) % CLASSES
ONE_HOT = F.one_hot(LABELS, CLASSES).float()
ROW = torch.linspace(0, 1, BATCH)
COLUMN = ROW.unsqueeze(1)


def verdicts(loss: Tensor) -> list[str]:
    nodes, truncated = read_nodes(loss.grad_fn, {})
    graph = LossGraph("loss", place(), loss.item(), nodes, local_tensors(inspect.currentframe()), 1, truncated)
    return [finding.name for finding in judged([graph], "softmax-before-cross-entropy", "loss-broadcast")]


def under_autocast() -> Tensor:
    with torch.autocast("cpu"):
        return F.cross_entropy(softmax(), LABELS)


def image_loss() -> Tensor:
    image = torch.nn.Conv2d(3, CLASSES, 1)(torch.randn(2, 3, 4, 4))
    return F.cross_entropy(F.softmax(image, dim=1), torch.zeros(2, 4, 4, dtype=torch.long))


def sequence_loss() -> Tensor:
    words = F.softmax(torch.nn.Linear(3, CLASSES)(torch.randn(2, 4, 3)), dim=-1)
    return F.cross_entropy(words.transpose(1, 2), LABELS.view(2, 4))


@pytest.mark.parametrize(
    "loss",
    [
        lambda: F.cross_entropy(softmax(), LABELS),
        lambda: F.cross_entropy(softmax(), ONE_HOT),
        lambda: F.cross_entropy(softmax(), LABELS, label_smoothing=0.1),
        lambda: F.cross_entropy(softmax(), LABELS, weight=torch.ones(CLASSES), label_smoothing=0.1),
        lambda: F.nll_loss(F.log_softmax(softmax(), dim=1), LABELS),
        lambda: F.cross_entropy(softmax().view(BATCH, 1, CLASSES).squeeze(1), LABELS),
        under_autocast,
        image_loss,
        sequence_loss,
    ],
)
def test_softmax_twice_is_seen_in_every_form_of_the_loss(loss: Callable[[], Tensor]) -> None:
    assert verdicts(loss()) == ["softmax-before-cross-entropy"]


@pytest.mark.parametrize(
    "loss",
    [
        lambda: F.mse_loss(column(), ROW),
        lambda: F.mse_loss(column().squeeze(1), COLUMN),
        lambda: F.mse_loss(ROW, column()),
        lambda: F.l1_loss(column(), ROW, reduction="sum"),
        lambda: F.smooth_l1_loss(column(), ROW),
        lambda: F.huber_loss(column(), ROW),
        lambda: ((column() - ROW) ** 2).mean(),
        lambda: (ROW - column()).abs().sum(),
        lambda: torch.sqrt(F.mse_loss(column(), ROW)),
        lambda: F.mse_loss(column(), ROW) + 0.1 * column().pow(2).mean(),
        lambda: F.poisson_nll_loss(column(), ROW),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_broadcasting_is_seen_in_every_form_of_the_loss(loss: Callable[[], Tensor]) -> None:
    assert verdicts(loss()) == ["loss-broadcast"]


def pairs(values: Tensor) -> Tensor:
    return F.softplus(-(values - values.T)).mean()


@pytest.mark.parametrize(
    "loss",
    [
        lambda: F.cross_entropy(scores(), LABELS),
        lambda: F.nll_loss(torch.log(softmax()), LABELS),
        lambda: F.kl_div(F.log_softmax(scores(), dim=1), softmax().detach()),
        lambda: F.mse_loss(softmax(), ONE_HOT),
        lambda: F.mse_loss(column(), COLUMN),
        lambda: F.mse_loss(column().squeeze(1), ROW),
        lambda: ((column().squeeze(-1) - ROW) ** 2).mean(),
        lambda: F.mse_loss(column()[:1], ROW[:1]),
        lambda: pairs(column()),
        lambda: (column().squeeze(1).unsqueeze(1) - ROW).pow(2).mean(),
        lambda: F.binary_cross_entropy_with_logits(column(), COLUMN),
        lambda: (column() * torch.ones(CLASSES) - ONE_HOT).pow(2).mean(),
        lambda: torch.cdist(scores(), torch.randn(BATCH, CLASSES)).mean(),
        lambda: F.cross_entropy(scores() @ torch.randn(CLASSES, BATCH), torch.arange(BATCH)),
    ],
)
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides", "ignore:Using a target size")
def test_healthy_losses_are_silent(loss: Callable[[], Tensor]) -> None:
    assert verdicts(loss()) == []
