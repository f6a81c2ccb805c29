"""On graphs as autograd really builds them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from tests.checks.graphs import loss_graph
from tests.checks.training.loss_terms import targets
from tests.fakes import judged, loss_site, optimizer, place
from torch_debugger.model.autograd_graph import read_nodes
from torch_debugger.records import Finding, LossGraph, Record

LABELS = torch.arange(8) % 5


def scores() -> Tensor:
    return torch.nn.Linear(3, 5)(torch.randn(8, 3))


def graph(loss: Tensor, step: int = 2) -> LossGraph:
    nodes, truncated = read_nodes(loss.grad_fn, {}, factors=True)
    return dataclasses.replace(loss_graph(*nodes), step=step, truncated=truncated)


def check(loss: Tensor, *others: Record) -> list[Finding]:
    return judged([loss_site(), *others, graph(loss)], "loss-sign")


def divergence(mu: Tensor, logvar: Tensor) -> Tensor:
    return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


def normal() -> Tensor:
    return kl_divergence(Normal(scores(), F.softplus(scores())), Normal(torch.zeros(5), torch.ones(5))).sum()


def test_an_error_with_a_minus_is_an_error() -> None:
    (finding,) = check(-F.cross_entropy(scores(), LABELS), targets(surprise=math.log(4)))
    assert finding.severity == "error"
    assert finding.message == (
        "The cross-entropy enters the loss at train.py:40 with a minus, so training makes it as large as it "
        "can; the loss was 1.5 at step 2."
    )
    assert finding.fix == "Take the minus in front of the cross-entropy away."


@pytest.mark.parametrize(
    "loss",
    [
        lambda: F.mse_loss(scores(), torch.randn(8, 5)) - divergence(scores(), scores()),
        lambda: 0.5 * torch.sum(1 + (logvar := scores()) - scores().pow(2) - logvar.exp()) / 8,
        lambda: F.mse_loss(scores(), torch.randn(8, 5)) - 0.1 * normal(),
        lambda: -0.5 * F.mse_loss(scores(), torch.randn(8, 5)),
        lambda: (1 - F.binary_cross_entropy_with_logits(scores(), torch.rand(8, 5))) / 4,
    ],
)
def test_a_wrong_sign_is_seen_in_every_form(loss: Callable[[], Tensor]) -> None:
    assert check(loss())


@pytest.mark.parametrize(
    "loss",
    [
        lambda: F.cross_entropy(scores(), LABELS),
        lambda: F.mse_loss(scores(), torch.randn(8, 5)) + divergence(scores(), scores()),
        lambda: -(-F.mse_loss(scores(), torch.randn(8, 5)) - divergence(scores(), scores())),
        lambda: F.mse_loss(scores(), torch.randn(8, 5)) + 0.1 * normal(),
        lambda: F.cross_entropy(scores(), LABELS) - 0.1 * F.mse_loss(scores(), torch.randn(8, 5)),
        lambda: scores().pow(2).mean() - 0.1 * F.cross_entropy(scores(), LABELS),
        lambda: (torch.exp(-(s := scores())) * scores().pow(2) + s).mean(),
        lambda: F.poisson_nll_loss(scores(), torch.ones(8, 5)),
        lambda: F.gaussian_nll_loss(scores(), torch.zeros(8, 5), scores().exp()),
        lambda: -scores().mean(),
    ],
)
def test_healthy_losses_are_silent(loss: Callable[[], Tensor]) -> None:
    assert not check(loss())


def test_a_trained_model_may_be_made_to_forget() -> None:
    assert not check(-F.cross_entropy(scores(), LABELS), targets(surprise=0.1))


def test_two_losses_or_optimizers_may_play_against_each_other() -> None:
    wrong = -F.mse_loss(scores(), torch.randn(8, 5))
    assert not check(wrong, loss_site(50, "loss_g"))
    assert not check(wrong, optimizer(), optimizer(name="opt_g"))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "likelihood",
            "The loss at train.py:12 is the log-likelihood with a plus, so training makes the data as",
        ),
        (
            "reward",
            "The loss at train.py:12 is log-probability times reward with a plus, so training makes rew",
        ),
    ],
)
def test_what_should_be_raised_needs_a_minus(kind: str, message: str) -> None:
    told = dataclasses.replace(graph(scores().mean()), lowered=kind, lowered_at=place(12))
    (finding,) = judged([loss_site(), optimizer("Adam"), told], "loss-sign")
    assert finding.message.startswith(message)
    assert finding.fix.startswith("Put a minus in front of")
    assert not judged([loss_site(), loss_site(50, "other"), told], "loss-sign"), "another loss may use it"


def test_an_optimizer_that_maximises_turns_every_sign() -> None:
    ascent = optimizer("Adam", maximize=1.0)
    assert not check(-F.mse_loss(scores(), torch.randn(8, 5)), ascent)
    told = dataclasses.replace(graph(scores().mean()), lowered="likelihood", lowered_at=place(12))
    assert not judged([loss_site(), ascent, told], "loss-sign")
