"""What an optimizer's steps find is told by value and by the order of calls."""

from __future__ import annotations

import gc

import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import IdleOptimizer, StepCycle


def pair() -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Linear(4, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def loss_of(net: nn.Module) -> torch.Tensor:
    loss: torch.Tensor = net(torch.ones(3, 4)).square().mean()
    return loss


def test_a_healthy_cycle_has_gradients_and_nothing_in_between() -> None:
    with watched() as seen:
        net, optimizer = pair()
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(net).backward()
            optimizer.step()
    told = [(each.gradients, each.backwards, bool(each.cleared)) for each in seen.of(StepCycle)]
    assert told == [("nonzero", 1, False)] * 3


def test_a_clearing_before_the_step_is_seen_with_its_line() -> None:
    with watched() as seen:
        net, optimizer = pair()
        loss_of(net).backward()
        net.zero_grad()
        optimizer.step()
    (cycle,) = seen.of(StepCycle)
    assert (cycle.gradients, cycle.cleared.code) == ("none", "net.zero_grad()")


def test_a_closure_makes_its_gradients_inside_the_step() -> None:
    with watched() as seen:
        net, optimizer = pair()

        def closure() -> float:
            optimizer.zero_grad()
            loss = loss_of(net)
            loss.backward()
            return loss.item()

        for _ in range(3):
            optimizer.step(closure)
            optimizer.zero_grad()
    assert {(each.gradients, each.backwards) for each in seen.of(StepCycle)} == {("nonzero", 1)}


def test_old_gradients_are_stale_and_new_ones_are_not() -> None:
    with watched() as seen:
        net, optimizer = pair()
        loss_of(net).backward()
        optimizer.step()
        optimizer.step()
        for parameter in net.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
    assert [each.gradients for each in seen.of(StepCycle)] == ["nonzero", "stale", "nonzero"]


def test_a_model_of_the_same_shapes_that_nobody_holds_is_the_twin() -> None:
    with watched() as seen:
        _, optimizer = pair()
        net = nn.Linear(4, 2)
        loss_of(net).backward()
        optimizer.step()
    (cycle,) = seen.of(StepCycle)
    assert (cycle.gradients, cycle.twin, cycle.twin_place.code) == ("none", "net", "net = nn.Linear(4, 2)")


def test_an_optimizer_is_idle_until_it_steps() -> None:
    with watched() as seen:
        net, optimizer = pair()
        for _ in range(5):
            optimizer.zero_grad()
            loss_of(net).backward()
        optimizer.step()
    assert [(each.optimizer, each.backwards, each.stepped) for each in seen.of(IdleOptimizer)] == [
        ("optimizer", 4, False),
        ("optimizer", 5, True),
    ]


def test_weights_that_are_moved_by_hand_need_no_step() -> None:
    with watched() as seen:
        net, optimizer = pair()
        for _ in range(5):
            optimizer.zero_grad()
            loss_of(net).backward()
            with torch.no_grad():
                for parameter in net.parameters():
                    parameter.mul_(0.9)
    assert all(each.stepped for each in seen.of(IdleOptimizer))


def test_a_loss_whose_backward_is_forgotten_beside_another() -> None:
    with watched() as seen:
        actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
        first, second = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (actor, critic))
        for _ in range(3):
            x = torch.randn(5, 4)
            policy_loss, value_loss = actor(x).mean(), critic(x).pow(2).mean()
            assert value_loss.requires_grad
            first.zero_grad()
            policy_loss.backward()
            first.step()
            second.zero_grad()
            second.step()
    unspent = {cycle.optimizer: cycle.unspent for cycle in seen.of(StepCycle)}
    assert unspent == {"first": "", "second": "value_loss"}


def test_gradients_and_weights_can_be_swapped() -> None:
    """As `Module.to` does where a parameter is of a tensor class."""
    with watched():
        net, optimizer = pair()
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(net).backward()
            optimizer.step()
        del optimizer
        gc.collect()
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            net.to(torch.float64)
        finally:
            torch.__future__.set_swap_module_params_on_conversion(False)
    assert {parameter.grad.dtype for parameter in net.parameters()} == {torch.float64}  # type: ignore[union-attr]
