"""`torch_debugger.profile` as people write torch.profiler."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import torch_debugger
from torch_debugger.runner.profile_blocks import profile


def train_step(net: nn.Module) -> None:
    net(torch.randn(16, 32)).square().mean().backward()  # the step


@pytest.fixture
def model() -> nn.Module:
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))


def test_a_block(model: nn.Module) -> None:
    with torch_debugger.profile() as prof:
        train_step(model)
    assert prof.fact is not None
    assert {each.module for each in prof.fact.modules} >= {"net", "net.0"}
    (line,) = [each for each in prof.fact.lines if (each.place.code or "").endswith("# the step")]
    assert line.backward_s > 0
    assert "Where the time went: 1 step" in str(prof)
    assert "net(torch.randn(16, 32))" in str(prof)
    assert prof.key_averages().total_average().count > 0
    assert sys.gettrace() is None


def test_the_form_of_the_tutorials(model: nn.Module, tmp_path: Path) -> None:
    with torch_debugger.profile(
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=3),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path / "profiler")),
        record_shapes=True,
    ) as prof:
        for _ in range(5):
            train_step(model)
            prof.step()
    assert prof.fact is not None
    assert prof.fact.steps == 3
    assert {each.calls for each in prof.fact.modules} == {3}, "only those of the active steps"
    assert len(list((tmp_path / "profiler").iterdir())) == 1


def test_python_functions_of_a_trace_with_stacks_are_no_ops(model: nn.Module) -> None:
    with torch_debugger.profile(with_stack=True) as prof:
        train_step(model)
    assert prof.fact is not None and prof.fact.ops
    assert all("::" in each.op or each.op[0].isupper() for each in prof.fact.ops), prof.fact.ops


def test_a_decorator(model: nn.Module) -> None:
    profiled = profile()

    @profiled
    def work(times: int) -> int:
        train_step(model)
        return times

    assert work(3) == 3
    assert profiled.fact is not None and profiled.fact.modules


def test_an_exception_goes_through_and_nothing_stays(model: nn.Module) -> None:
    with pytest.raises(ValueError, match="mine"), torch_debugger.profile():
        raise ValueError("mine")
    assert sys.gettrace() is None
    assert not nn.modules.module._global_forward_hooks


def test_before_its_block_it_says_so() -> None:
    prof: Any = torch_debugger.profile()
    assert str(prof) == "nothing was profiled yet"
    with pytest.raises(AttributeError, match="before its block has begun"):
        prof.key_averages()
