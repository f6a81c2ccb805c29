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


def of_sign(loss: Tensor, *others: Record) -> list[Finding]:
    return judged([loss_site(), *others, graph(loss)], "loss-sign")


def divergence(mu: Tensor, logvar: Tensor) -> Tensor:
    return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


def normal() -> Tensor:
    return kl_divergence(Normal(scores(), F.softplus(scores())), Normal(torch.zeros(5), torch.ones(5))).sum()


def test_an_error_with_a_minus_is_an_error() -> None:
    (finding,) = of_sign(-F.cross_entropy(scores(), LABELS), targets(surprise=math.log(4)))
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
    assert of_sign(loss())


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
    assert not of_sign(loss())


def test_losses_that_are_raised_on_purpose_are_silent() -> None:
    # a trained model may be made to forget
    assert not of_sign(-F.cross_entropy(scores(), LABELS), targets(surprise=0.1))
    # two losses or optimizers may play against each other
    wrong = -F.mse_loss(scores(), torch.randn(8, 5))
    assert not of_sign(wrong, loss_site(50, "loss_g"))
    assert not of_sign(wrong, optimizer(), optimizer(name="opt_g"))
    # an optimizer that maximises turns every sign
    ascent = optimizer("Adam", maximize=1.0)
    assert not of_sign(-F.mse_loss(scores(), torch.randn(8, 5)), ascent)
    told = dataclasses.replace(graph(scores().mean()), lowered="likelihood", lowered_at=place(12))
    assert not judged([loss_site(), ascent, told], "loss-sign")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("likelihood", "The loss at train.py:12 is the log-likelihood with a plus, so training makes the data as"),
        ("reward", "The loss at train.py:12 is log-probability times reward with a plus, so training makes rew"),
    ],
)
def test_what_should_be_raised_needs_a_minus(kind: str, message: str) -> None:
    told = dataclasses.replace(graph(scores().mean()), lowered=kind, lowered_at=place(12))
    (finding,) = judged([loss_site(), optimizer("Adam"), told], "loss-sign")
    assert finding.message.startswith(message)
    assert finding.fix.startswith("Put a minus in front of")
    assert not judged([loss_site(), loss_site(50, "other"), told], "loss-sign"), "another loss may use it"


LAYER = torch.nn.Linear(3, 1)
NAMES = {id(parameter): f"net.{name}" for name, parameter in LAYER.named_parameters()}


def output() -> Tensor:
    result: Tensor = LAYER(torch.randn(8, 3))
    return result


def of_rounding(loss: Tensor, limit: int = 64) -> list[Finding]:
    nodes, _ = read_nodes(loss.grad_fn, NAMES, limit)
    return judged([loss_graph(*nodes, code="loss = criterion(answer, y)")], "rounding-before-loss")


def test_a_rounded_output_is_an_error() -> None:
    (finding,) = of_rounding(F.mse_loss(output().round(), torch.ones(8, 1)))
    assert finding.severity == "error"
    assert finding.message == (
        "Everything that the loss at train.py:39 sees of the model goes through round(), whose gradient is "
        "zero everywhere: no weight can learn."
    )


@pytest.mark.parametrize("flat", [torch.sign, torch.floor, torch.ceil, torch.trunc])
def test_other_flat_functions_are_seen_too(flat: Callable[[Tensor], Tensor]) -> None:
    assert of_rounding((flat(output()) - 1).abs().sum())


@pytest.mark.parametrize(
    "loss",
    [
        lambda: F.mse_loss(output(), torch.ones(8, 1)),
        lambda: ((soft := output()) + (soft.round() - soft).detach()).pow(2).mean(),
        lambda: ((x := output()) * x.sign()).mean(),
        lambda: output().round().mean() + 0.1 * output().pow(2).mean(),
    ],
    ids=["plain", "straight through", "a factor", "one of two terms"],
)
def test_other_ways_for_the_gradient_are_silent(loss: Callable[[], Tensor]) -> None:
    assert not of_rounding(loss())


def test_a_graph_that_was_not_read_to_its_end_is_silent() -> None:
    both = output().round().mean() + output().tanh().exp().sin().mean()
    assert not of_rounding(both, limit=4)
