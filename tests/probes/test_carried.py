"""Are gradients cleared between steps? Told by value, whatever way the script clears them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.probes.optimizers_known import CarryTracker
from torch_debugger.records import CarriedGradient

Clear = Callable[[nn.Module, torch.optim.Optimizer], None]


def told(clear: Clear, steps: int = 6, accumulate: int = 1) -> list[CarriedGradient]:
    """What is told of a loop that clears its gradients this way at the start of each step."""
    with watched() as seen:
        torch.manual_seed(0)
        net, x = nn.Linear(4, 2), torch.randn(8, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(steps):
            clear(net, optimizer)
            for _ in range(accumulate):
                net(x).pow(2).mean().backward()
            optimizer.step()
    return seen.of(CarriedGradient)


def by_hand(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in net.parameters():
        if parameter.grad is not None:
            parameter.grad.data.zero_()


def by_none(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in net.parameters():
        parameter.grad = None


@pytest.mark.parametrize(
    "clear",
    [
        lambda net, optimizer: optimizer.zero_grad(),
        lambda net, optimizer: optimizer.zero_grad(set_to_none=False),
        lambda net, optimizer: net.zero_grad(),
        lambda net, optimizer: net.zero_grad(set_to_none=False),
        by_hand,
        by_none,
    ],
    ids=["optimizer", "to zero", "model", "model to zero", "data.zero_()", "grad = None"],
)
@pytest.mark.parametrize("accumulate", [1, 3])
def test_cleared_gradients(clear: Clear, accumulate: int) -> None:
    found = told(clear, accumulate=accumulate)
    assert found
    assert all(each.cleared and each.carried_norm == 0.0 for each in found)
    assert len(found) == CarryTracker.TOLD_CLEAN


def test_gradients_that_are_never_cleared() -> None:
    found = told(lambda net, optimizer: None)
    assert [each.cleared for each in found] == [False] * len(found)
    assert len(found) >= 4
    norms = [each.norm for each in found]
    assert norms == sorted(norms)
    for before, after in itertools.pairwise(found):
        assert after.carried_norm == pytest.approx(before.norm)
    assert {each.parameter for each in found} == {"net.bias"}
    assert found[0].place.code == "net(x).pow(2).mean().backward()"


def test_a_leak_is_told_some_times_and_no_more() -> None:
    assert len(told(lambda net, optimizer: None, steps=40)) == CarryTracker.TOLD_CARRIED


def test_two_optimizers_that_share_a_backward_are_judged_each_by_its_own_cycle() -> None:
    with watched() as seen:
        torch.manual_seed(0)
        critic, generator = nn.Linear(2, 1), nn.Linear(2, 2)
        opt_d = torch.optim.SGD(critic.parameters(), lr=0.01)
        opt_g = torch.optim.SGD(generator.parameters(), lr=0.01)
        for _ in range(6):
            noise = torch.randn(4, 2)
            opt_d.zero_grad()
            critic(generator(noise).detach()).mean().backward()
            opt_d.step()
            opt_g.zero_grad()
            critic(generator(noise)).mean().backward()  # fills the critic's gradients too
            opt_g.step()
    found = seen.of(CarriedGradient)
    assert {each.optimizer for each in found} == {"opt_d", "opt_g"}
    assert all(each.cleared for each in found)


def test_a_parameter_that_loses_its_gradient_is_not_waited_for() -> None:
    with watched() as seen:
        torch.manual_seed(0)
        first, second, x = nn.Linear(4, 1), nn.Linear(4, 4), torch.randn(8, 4)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
        for step in range(8):
            optimizer.zero_grad()
            (first if step < 3 else second)(x).pow(2).mean().backward()
            optimizer.step()
    assert all(each.cleared for each in seen.of(CarriedGradient))
