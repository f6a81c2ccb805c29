"""A few steps under the profiler: every line and every module gets its own time, and nothing stays behind."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from torch import nn

from torch_debugger.profiling.profiled_steps import Window
from torch_debugger.profiling.timeline import LineLog
from torch_debugger.records import LineTime, ProfileFact


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.wide = nn.Linear(width, 4 * width)
        self.back = nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        hidden = torch.relu(self.wide(x))  # line: wide
        return x + self.back(hidden)  # line: back


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(64), Block(64)])
        self.head = nn.Linear(64, 3)

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.head(x)  # line: head


def train(net: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for _ in range(steps):
        x = torch.randn(32, 64)
        loss = net(x).square().mean()  # line: loss
        optimizer.zero_grad()
        loss.backward()  # line: backward
        optimizer.step()  # line: update


@pytest.fixture(scope="module")
def fact() -> ProfileFact:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    train(net, optimizer, 2)
    paths = {id(part): f"net.{name}".rstrip(".") for name, part in net.named_modules()}
    window = Window(paths, on_device=False)
    window.start()
    train(net, optimizer, 4)
    return window.stop(first_step=3, steps=4, plain_s=0.0)


def line_with(fact: ProfileFact, word: str) -> LineTime:
    (found,) = [line for line in fact.lines if (line.place.code or "").endswith(f"# line: {word}")]
    return found


def test_the_lines_are_the_users_and_add_up_to_the_window(fact: ProfileFact) -> None:
    assert {line.place.file for line in fact.lines} == {__file__}
    together_s = sum(line.host_s + line.backward_s for line in fact.lines)
    assert together_s == pytest.approx(fact.wall_s, rel=0.05)
    assert (line_with(fact, "update").passes, line_with(fact, "wide").passes) == (4, 8)


def test_the_backward_is_told_by_the_line_that_computed_forward(fact: ProfileFact) -> None:
    assert all(line_with(fact, word).backward_s > 0 for word in ("wide", "back", "head", "loss"))
    assert line_with(fact, "update").backward_s == line_with(fact, "backward").backward_s == 0
    assert all(line.host_s >= 0 for line in fact.lines)


def test_the_modules_are_told_in_the_order_of_their_calls_with_all_that_is_in_them(fact: ProfileFact) -> None:
    times = {each.module: each for each in fact.modules}
    assert list(times)[:3] == ["net", "net.blocks.0", "net.blocks.0.wide"]
    assert (times["net"].calls, times["net.blocks.1"].kind) == (4, "Block")
    inner = [times[f"net.blocks.0.{name}"] for name in ("wide", "back")]
    assert times["net.blocks.0"].forward_s >= sum(each.forward_s for each in inner)
    assert times["net.blocks.0"].backward_s >= sum(each.backward_s for each in inner) > 0
    assert times["net"].backward_s >= times["net.blocks.0"].backward_s + times["net.blocks.1"].backward_s


def test_ops_are_told_without_what_they_called(fact: ProfileFact) -> None:
    ops = {each.op: each for each in fact.ops}
    assert ops["aten::addmm"].calls == 4 * 5
    assert ops["aten::addmm"].shapes.startswith("[[")
    assert sum(each.host_s for each in fact.ops) <= fact.wall_s


def test_on_the_cpu_nothing_is_said_of_a_device(fact: ProfileFact) -> None:
    assert (fact.on_device, fact.device_busy_s, fact.kernels, fact.syncs, fact.copies) == (
        False,
        0.0,
        0,
        (),
        (),
    )


def test_nothing_stays_behind(fact: ProfileFact) -> None:
    assert sys.gettrace() is None
    assert not nn.modules.module._global_forward_hooks and not nn.modules.module._global_forward_pre_hooks
    frame: Any = sys._getframe()
    while frame is not None:
        assert frame.f_trace is None
        frame = frame.f_back


def test_where_somebody_traces_already_the_lines_are_left_alone() -> None:
    def tracer(*_: Any) -> Any:
        return None

    sys.settrace(tracer)
    try:
        possible = LineLog.possible()
        window = Window({}, on_device=False)
        window.start()
        torch.ones(3).sum()
        fact = window.stop(1, 1, 0.0)
        kept = sys.gettrace()
    finally:
        sys.settrace(None)
    assert not possible
    assert kept is tracer
    assert fact.lines == ()
    assert "aten::sum" in {each.op for each in fact.ops}


def test_a_forward_that_raises_leaves_the_modules_in_order() -> None:
    class Sometimes(nn.Module):
        def forward(self, x: Any) -> Any:
            if x.sum() > 0:
                raise ValueError("no")
            return x

    net, linear = Sometimes(), nn.Linear(2, 2)
    window = Window({id(net): "net", id(linear): "linear"}, on_device=False)
    window.start()
    with pytest.raises(ValueError, match="no"):
        net(torch.ones(2))
    linear(torch.ones(1, 2)).sum().backward()
    fact = window.stop(1, 1, 0.0)
    times = {each.module: each for each in fact.modules}
    assert times["linear"].calls == 1
    assert times["linear"].backward_s > 0
    assert times["net"].backward_s == 0
