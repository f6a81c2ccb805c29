"""On graphs as autograd really builds them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.checks.graphs import loss_graph
from tests.fakes import judged
from torch_debugger.model.autograd_graph import read_nodes
from torch_debugger.records import Finding

LAYER = torch.nn.Linear(3, 1)
NAMES = {id(parameter): f"net.{name}" for name, parameter in LAYER.named_parameters()}


def output() -> Tensor:
    result: Tensor = LAYER(torch.randn(8, 3))
    return result


def check(loss: Tensor, limit: int = 64) -> list[Finding]:
    nodes, _ = read_nodes(loss.grad_fn, NAMES, limit)
    return judged([loss_graph(*nodes, code="loss = criterion(answer, y)")], "rounding-before-loss")


def test_a_rounded_output_is_an_error() -> None:
    (finding,) = check(F.mse_loss(output().round(), torch.ones(8, 1)))
    assert finding.severity == "error"
    assert finding.message == (
        "Everything that the loss at train.py:39 sees of the model goes through round(), whose gradient is "
        "zero everywhere: no weight can learn."
    )


@pytest.mark.parametrize("flat", [torch.sign, torch.floor, torch.ceil, torch.trunc])
def test_other_flat_functions_are_seen_too(flat: Callable[[Tensor], Tensor]) -> None:
    assert check((flat(output()) - 1).abs().sum())


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
    assert not check(loss())


def test_a_graph_that_was_not_read_to_its_end_is_silent() -> None:
    both = output().round().mean() + output().tanh().exp().sin().mean()
    assert not check(both, limit=4)
