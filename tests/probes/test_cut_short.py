"""A deep look that takes too long ends, wherever it is, and what it has seen so far is no evidence."""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import nn
from torch.nn.modules import module as module_hooks

from tests.probes.watching import Seen, watched
from torch_debugger.checks.judge import Judge
from torch_debugger.probes.model.forward import Calls
from torch_debugger.probes.model.root_modules import RootModule as Root
from torch_debugger.probes.optimizers_known import KnownOptimizers
from torch_debugger.probes.probe import Guard
from torch_debugger.probes.schedule import Governor
from torch_debugger.records import LedgerFact, Notice, TensorRows

STEPS = 5


def train(after_forward: list[int] | None = None) -> torch.Tensor:
    """Two small models in turn, as a GAN's; the weights in the end."""
    torch.manual_seed(0)
    nets = [nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 8), nn.Tanh())) for _ in range(2)]
    optimizers = [torch.optim.Adam(net.parameters(), lr=1e-2) for net in nets]
    for _ in range(STEPS):
        for net, optimizer in zip(nets, optimizers, strict=True):
            loss = (net(torch.randn(16, 4)) - 0.1 * torch.randn(16, 8)).pow(2).mean()
            if after_forward is not None:
                after_forward.append(len(module_hooks._global_forward_hooks))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return torch.cat([parameter.detach().flatten() for net in nets for parameter in net.parameters()])


@contextmanager
def over_from(call: int) -> Iterator[None]:
    """The look is over its limit from the n-th time on that somebody asks."""
    count = itertools.count()
    allow = Guard.allow

    def start(guard: Guard, seconds: float) -> None:
        guard.is_limited = seconds != float("inf")  # type: ignore[attr-defined]
        allow(guard, seconds)

    def is_over(guard: Guard) -> bool:
        return getattr(guard, "is_limited", False) and next(count) >= call

    with patch.object(Guard, "allow", start), patch.object(Guard, "is_over", is_over):
        yield


def rows(seen: Seen) -> list[Any]:
    kinds = ("activation", "output_gradient")
    return [*(each for each in seen.of(TensorRows) if each.table.kind in kinds), *seen.of(LedgerFact)]


@pytest.fixture(scope="module")
def plain() -> torch.Tensor:
    return train()


def test_nothing_of_it_is_told_but_the_losses_are(plain: torch.Tensor) -> None:
    hooks: list[int] = []
    with patch.object(Governor, "LOOK_S", 0.0), watched(deep=False) as seen:
        weights = train(hooks)
    assert torch.equal(weights, plain)
    assert rows(seen) == []
    assert sorted(seen.scalars("loss")) == [*range(1, STEPS + 1)]
    assert hooks == [0] * 2 * STEPS
    assert [notice.text for notice in seen.of(Notice) if "close look" in notice.text]


def test_one_that_cannot_be_finished_is_not_gone_on_with(plain: torch.Tensor) -> None:
    hooks: list[int] = []
    foreseen = itertools.chain([0.0, 1.5 * Governor.LOOK_S], itertools.repeat(0.0))
    with patch.object(Calls, "begin_module", lambda *_: next(foreseen)), watched(deep=False) as seen:
        weights = train(hooks)
    assert torch.equal(weights, plain)
    assert rows(seen) == []
    assert hooks == [0] * 2 * STEPS
    assert len([notice for notice in seen.of(Notice) if "close look" in notice.text]) == 1


def test_what_a_look_at_a_huge_model_takes_is_known_from_a_part_of_it() -> None:
    calls, root = Calls(), Root("net", weakref.ref(nn.Identity()), dict.fromkeys(range(10_000), ""))
    start_s, module_s = 0.5, 1e-3
    foreseen = [calls.begin_module(root, start_s + number * module_s) for number in range(1, 10_001)]
    told = [seconds for seconds in foreseen if seconds]
    assert told == [pytest.approx(start_s + module_s * (1024 + 2 * (10_000 - 1024)))]
    assert not any(foreseen[:1000])  # what most models have is looked at whatever it takes


def test_with_time_enough_all_is_told() -> None:
    with watched(deep=False) as seen:
        train()
    assert rows(seen)


def test_it_may_end_anywhere(plain: torch.Tensor) -> None:
    """No fault, no other weights, all steps counted, and a healthy training is found healthy."""
    for call in range(0, 400, 29):
        with over_from(call), watched(deep=False) as seen:
            weights = train()
        assert torch.equal(weights, plain), call
        assert sorted(seen.scalars("loss")) == [*range(1, STEPS + 1)], call
        judge = Judge()
        found = [finding for record in seen for finding in judge.see(record)]
        assert found == [], (call, found)


def calls_in_deep_steps(others: int) -> int:
    """Python calls of ours in deep steps of one model, while so many others exist that have trained before."""
    with watched(deep=False) as seen:
        made = []
        for _ in range(others + 1):
            net = nn.Linear(3, 1)
            made.append((net, torch.optim.SGD(net.parameters(), lr=1e-3)))
            step(*made[-1])
        seen.plumbing.watch.governor.always_deep = True
        step(*made[-1])
        count = 0

        def tally(frame: FrameType, event: str, argument: Any) -> None:
            nonlocal count
            count += event == "call" and frame.f_globals["__name__"].startswith("torch_debugger.")

        sys.setprofile(tally)
        try:
            for _ in range(5):
                step(*made[-1])
        finally:
            sys.setprofile(None)
    return count


def step(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    net(torch.ones(2, 3)).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_a_step_costs_the_same_however_many_other_models_there_are() -> None:
    some, many = (calls_in_deep_steps(times * KnownOptimizers.LIMIT) for times in (1, 3))
    assert some > 1000
    assert many < 1.1 * some


def test_parameters_are_known_as_optimizers_come_and_go() -> None:
    with watched(deep=False) as seen:
        known = seen.plumbing.optimizers.known
        first, second = nn.Linear(2, 2), nn.Linear(2, 2)
        one = torch.optim.SGD(first.parameters(), lr=0.1)
        both = torch.optim.SGD([first.weight], lr=0.1)
        both.add_param_group({"params": [second.weight]})
        assert {*known.parameter_ids()} == {id(first.weight), id(first.bias), id(second.weight)}
        del one
        assert {*known.parameter_ids()} == {id(first.weight), id(second.weight)}
        del both
        assert {*known.parameter_ids()} == set()


def nested(levels: int) -> nn.Module:
    net: nn.Module = nn.Linear(4, 1)
    for _ in range(levels):
        net = nn.Sequential(net)
    return net


def test_what_is_nested_as_deeply_as_python_allows_can_be_called_all_the_same() -> None:
    def call(net: nn.Module) -> None:
        net(torch.randn(2, 4)).sum().backward()

    levels = next(levels for levels in range(400, 0, -5) if not _overflows(call, nested(levels)))
    net = nested(levels - 15)  # a call of ours takes some frames itself
    optimizer = torch.optim.SGD(nn.ParameterList(net.parameters()), lr=0.1)
    assert levels > 100
    with watched():
        for _ in range(3):
            call(net)
            optimizer.step()


def _overflows(call: Callable[[nn.Module], None], net: nn.Module) -> bool:
    try:
        call(net)
    except RecursionError:
        return True
    return False
