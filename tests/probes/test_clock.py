"""When a step ends, learned from the order in which optimizers step."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.probes.watch import StepClock
from torch_debugger.records import EndFact, Scalars


def ticks(clock: StepClock, steps: Iterable[str]) -> list[bool]:
    return [clock.stepped(name) for name in steps]


def clock_of(*optimizers: str) -> StepClock:
    clock = StepClock()
    for name in optimizers:
        clock.made(name)
    return clock


def test_one_optimizer_ends_each_step() -> None:
    assert ticks(clock_of("a"), "aaa") == [True, True, True]


def test_an_optimizer_never_seen_being_made() -> None:
    assert ticks(clock_of(), "aaa") == [True, True, True]


def test_two_optimizers_end_a_step_together() -> None:
    assert ticks(clock_of("d", "g"), "dgdgdg") == 3 * [False, True]


def test_the_order_of_making_does_not_matter() -> None:
    assert ticks(clock_of("g", "d"), "dgdgdg") == 3 * [False, True]


@pytest.mark.parametrize("critic_steps", [1, 2, 5, 16])
def test_several_critic_steps_are_one_iteration(critic_steps: int) -> None:
    steps = 3 * (critic_steps * "d" + "g")
    assert ticks(clock_of("d", "g"), steps) == 3 * [*critic_steps * [False], True]


def test_the_generator_may_step_first() -> None:
    assert sum(ticks(clock_of("d", "g"), 3 * "gddddd")) == pytest.approx(3 * 5, abs=15)
    assert ticks(clock_of("d", "g"), 3 * "gd") == 3 * [False, True]


def test_a_discriminator_that_rests_now_and_then() -> None:
    """Some scripts step it only when its loss is high: the generator closes all the same."""
    assert sum(ticks(clock_of("d", "g"), "dgdgggdg")) == 5


def test_an_optimizer_that_never_steps_is_waited_for_and_then_given_up() -> None:
    found = ticks(clock_of("a", "unused"), 100 * "a")
    patience = StepClock.PATIENCE
    assert found == patience * [False] + (100 - patience) * [True]


def test_training_in_stages() -> None:
    clock = clock_of("a")
    assert all(ticks(clock, 20 * "a"))
    clock.made("b")
    assert all(ticks(clock, 20 * "b"))


def test_stages_whose_optimizers_are_made_up_front() -> None:
    found = ticks(clock_of("a", "b"), 50 * "a" + 50 * "b" + 50 * "a")
    assert sum(found[50:100]) == 50
    assert sum(found[100:]) == 50 - StepClock.PATIENCE


def test_an_optimizer_made_anew_each_epoch() -> None:
    clock = StepClock()
    for epoch in range(4):
        clock.made(epoch)
        if epoch:
            clock.gone(epoch - 1)
        assert all(ticks(clock, 5 * [epoch]))  # type: ignore[list-item]


def test_the_one_that_is_left_goes_on_at_once() -> None:
    """Its partner, which closed the steps, is gone: nobody is waited for."""
    clock = clock_of("d", "g")
    ticks(clock, "dgdg")
    clock.gone("g")
    assert ticks(clock, "ddd") == [True, True, True]


def test_nobody_waits_for_one_that_is_gone() -> None:
    clock = clock_of("a", "b")
    assert ticks(clock, "a") == [False]
    clock.gone("b")
    assert ticks(clock, "aaa") == [True, True, True]


def test_three_optimizers() -> None:
    assert ticks(clock_of("a", "b", "c"), 3 * "abc") == 3 * [False, False, True]


def test_without_an_optimizer_backward_passes_count() -> None:
    clock = StepClock()
    assert [clock.backward_done() for _ in range(3)] == [True, True, True]
    assert clock.counted == "backward passes"


def test_with_an_optimizer_they_do_not() -> None:
    clock = clock_of("a")
    assert [clock.backward_done() for _ in range(3)] == [False, False, False]
    clock.stepped("a")
    assert not any(clock.backward_done() for _ in range(500))
    assert clock.counted == "optimizer steps"


def test_an_optimizer_that_is_made_and_never_used() -> None:
    """Weights updated by hand: after a while it is clear that backward passes are the steps."""
    clock = clock_of("a")
    found = [clock.backward_done() for _ in range(200)]
    assert found == (StepClock.BACKWARDS - 1) * [False] + (201 - StepClock.BACKWARDS) * [True]
    assert clock.counted == "backward passes"


def test_an_optimizer_that_steps_at_last() -> None:
    clock = clock_of("a")
    for _ in range(100):
        clock.backward_done()
    assert ticks(clock, "a") == [True]
    assert clock.counted == "optimizer steps"
    assert not clock.backward_done()


# With real optimizers


def net() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return nn.Linear(3, 1), torch.randn(8, 3)


def test_lbfgs_is_one_step_whatever_its_closures_do() -> None:
    with watched() as seen:
        model, x = net()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=6)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
    assert [end.steps for end in seen.of(EndFact)] == [3]


def test_accumulation_is_one_step() -> None:
    with watched() as seen:
        model, x = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            for _ in range(4):
                model(x).mean().backward()
            optimizer.step()
    assert [(end.steps, end.counted) for end in seen.of(EndFact)] == [(3, "optimizer steps")]


def test_steps_that_a_grad_scaler_leaves_out_count() -> None:
    with watched() as seen:
        model, x = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
        stepped = []
        for step in range(6):
            optimizer.zero_grad()
            loss = model(x).mean() * (float("inf") if step in (0, 3, 4) else 1.0)
            scaler.scale(loss).backward()
            before = model.weight.clone()
            scaler.step(optimizer)
            scaler.update()
            stepped.append(not torch.equal(before, model.weight))
    assert stepped == [False, True, True, False, False, True]
    assert [end.steps for end in seen.of(EndFact)] == [6]
    assert [record.step for record in seen.of(Scalars) if "loss" in record.values] == [1, 2, 3, 4, 5, 6]


def test_a_loop_without_an_optimizer() -> None:
    with watched() as seen:
        model, x = net()
        for _ in range(5):
            model(x).mean().backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    assert parameter.grad is not None
                    parameter -= 0.1 * parameter.grad
                    parameter.grad = None
    assert [(end.steps, end.counted) for end in seen.of(EndFact)] == [(5, "backward passes")]


def test_a_real_gan_with_a_critic() -> None:
    with watched() as seen:
        torch.manual_seed(0)
        critic, generator = nn.Linear(2, 1), nn.Linear(2, 2)
        first = torch.optim.SGD(critic.parameters(), lr=0.01)
        second = torch.optim.SGD(generator.parameters(), lr=0.01)
        for _ in range(3):
            for _ in range(5):
                first.zero_grad()
                critic(generator(torch.randn(4, 2)).detach()).mean().backward()
                first.step()
            second.zero_grad()
            critic(generator(torch.randn(4, 2))).mean().backward()
            second.step()
    assert [end.steps for end in seen.of(EndFact)] == [3]
