"""Copies of trained models: whether they follow, and whether gradients reach them."""

from __future__ import annotations

import copy

import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import CopyLook


def update(net: nn.Module, opt: torch.optim.Optimizer, target: nn.Module | None = None) -> None:
    x = torch.randn(3, 4)
    wanted = 1 + target(x) if target is not None else torch.ones(3, 1)
    opt.zero_grad()
    (net(x) - wanted).pow(2).mean().backward()
    opt.step()


def test_a_copy_that_stays_behind() -> None:
    with watched() as seen:
        net = nn.Sequential(nn.Linear(4, 1))
        ema = copy.deepcopy(net)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(10):
            update(net, opt)
    last = seen.of(CopyLook)[-1]
    assert (last.name, last.of, last.began_equal, last.moved, last.changed) == ("ema", "net", True, True, False)
    assert (last.gradient, last.held, last.updates) == (False, False, 10)
    assert ema is not None


def test_a_copy_that_follows_and_gets_gradients() -> None:
    with watched() as seen:
        net = nn.Sequential(nn.Linear(4, 1))
        target = copy.deepcopy(net)
        opt = torch.optim.SGD([*net.parameters(), *target.parameters()], lr=0.1)
        for _ in range(8):
            update(net, opt, target)
            target.load_state_dict(net.state_dict())
    last = [look for look in seen.of(CopyLook) if look.name != "net"][-1]
    assert (last.changed, last.gradient, last.held) == (True, True, True)
    assert [place.code for place in last.loads] == ["target.load_state_dict(net.state_dict())"]


class Shadow:
    def __init__(self, net: nn.Module) -> None:
        self.module = copy.deepcopy(net)

    def follow(self, net: nn.Module) -> None:
        for mine, other in zip(self.module.parameters(), net.parameters(), strict=True):
            mine.data.lerp(other.data, 0.1)


class Average:
    def __init__(self, shadow: Shadow) -> None:
        self.shadow = shadow


def test_a_copy_inside_a_callback_and_a_loop_that_changes_nothing() -> None:
    with watched() as seen:
        net = nn.Sequential(nn.Linear(4, 1))
        callbacks = [Average(Shadow(net))]
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(8):
            update(net, opt)
            callbacks[0].shadow.follow(net)
    last = seen.of(CopyLook)[-1]
    assert (last.name, last.changed) == ("shadow.module", False)
    assert last.idle.code == "mine.data.lerp(other.data, 0.1)"
    assert not last.sometimes


class Momentum(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Sequential(nn.Linear(4, 1))
        self.key = copy.deepcopy(self.query).requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.query(x) - self.key(x)  # type: ignore[no-any-return]


def test_a_copy_beside_the_trained_part_of_a_model() -> None:
    with watched() as seen:
        net = Momentum()
        opt = torch.optim.SGD(net.query.parameters(), lr=0.1)
        for _ in range(8):
            update(net, opt)
    last = seen.of(CopyLook)[-1]
    assert (last.name, last.of, last.began_equal, last.changed) == ("key", "net.query", True, False)


def test_a_model_of_other_shapes_is_no_copy() -> None:
    with watched() as seen:
        net, other = nn.Sequential(nn.Linear(4, 1)), nn.Sequential(nn.Linear(4, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(8):
            update(net, opt)
    assert not seen.of(CopyLook)
    assert other is not None


def test_a_copy_is_not_kept_alive() -> None:
    with watched() as seen:
        net = nn.Sequential(nn.Linear(4, 1))
        ema = copy.deepcopy(net)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(8):
            update(net, opt)
        count = len(seen.of(CopyLook))
        del ema
        for _ in range(8):
            update(net, opt)
        assert len(seen.of(CopyLook)) == count
