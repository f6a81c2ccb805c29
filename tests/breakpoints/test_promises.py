"""Breakpoints change nothing, leave nothing behind, and cost nothing where there are none."""

from __future__ import annotations

import copy
import io
import math
import os
import pickle
import sys
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.breakpoints.conftest import Stop
from tests.breakpoints.models import Block, Functional, Net, train
from torch_debugger import break_when
from torch_debugger.probes import breakpoints_answers as answers


def everything_of_torch_s() -> list[object]:
    hooks = [getattr(module_hooks, name) for name in dir(module_hooks) if name.startswith("_global_")]
    numbers = [len(hook) for hook in hooks if isinstance(hook, dict)]
    steps = len(optimizer_hooks._global_optimizer_post_hooks)
    return [*numbers, steps, torch.autograd.backward, torch.compile, sys.gettrace(), sys.excepthook]


ALL = ["nan(input)", "nan(output)", "nan(grad)", "nan(loss)", "step == 1000"]


def test_nothing_is_left_behind() -> None:
    before = everything_of_torch_s()
    handles = [break_when(text) for text in ALL]
    assert everything_of_torch_s() != before
    train(Net())
    for handle in handles:
        handle.remove()
        handle.remove()
    assert everything_of_torch_s() == before


@pytest.mark.parametrize("text", ALL)
def test_only_what_is_needed_is_on(text: str) -> None:
    plain = torch.autograd.backward
    with break_when(text):
        hooked = bool(module_hooks._global_forward_hooks)
        assert hooked is (text != "nan(loss)")
        assert (torch.autograd.backward is not plain) is ("loss" in text)


def test_the_module_itself_has_nothing_of_ours(stops: list[Stop]) -> None:
    net = Net()
    with break_when("numel(output) > 0") as handle:
        net(torch.rand(2, 4))
        assert not any(part._forward_hooks or part._forward_pre_hooks for part in net.modules())
        copied = copy.deepcopy(net)
        saved = io.BytesIO()
        torch.save(net, saved)
        pickle.dumps(net)
    hits = handle.hits
    copied(torch.rand(2, 4))
    assert handle.hits == hits and b"torch_debugger" not in saved.getvalue()


def healthy() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), Twin(), nn.ReLU(inplace=True), nn.Linear(4, 1))


class Twin(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        doubled = x * 2
        return doubled + torch.randn(4)


def test_the_training_is_the_same(stops: list[Stop]) -> None:
    torch.manual_seed(3)
    plain, state = train(healthy(), 3), torch.get_rng_state()
    torch.manual_seed(3)
    handles = [break_when(text) for text in (*ALL, "step > 0", "norm(grad) > 0", "numel(output) > 0")]
    watched = train(healthy(), 3)
    for handle in handles:
        handle.remove()
    assert stops
    assert all(torch.equal(one, other) for one, other in zip(plain, watched, strict=True))
    assert torch.equal(torch.get_rng_state(), state)


def test_a_forward_keeps_its_variables_after_a_stop_at_its_first_line(stops: list[Stop]) -> None:
    """A trace function that empties a frame's f_locals takes its variables away: seen while this was built."""
    block = Block()
    x = torch.rand(2, 4)
    plain = block(x)
    with break_when("numel(input) > 0"):
        watched = block(x, scale=1.0)
    assert len(stops) == 2
    assert torch.equal(plain.nan_to_num(), watched.nan_to_num())


def test_an_exception_of_the_user_s_goes_through(stops: list[Stop]) -> None:
    net = Net()
    with break_when("numel(output) > 0", at="head") as handle:
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as raised:
            net(torch.rand(2, 3))
        assert "torch_debugger" not in str(raised.traceback[-1].path)
        assert sys.gettrace() is None
        net(torch.rand(2, 4))
    assert handle.hits == 1


class Interrupted(nn.Module):
    interrupt = True

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if Interrupted.interrupt:
            raise KeyboardInterrupt
        return self.fc(x)


def test_ctrl_c_that_the_user_caught(stops: list[Stop]) -> None:
    net = Interrupted()
    with break_when("step == 1 or step == 2") as handle, break_when("numel(output) > 0", at="net"):
        with pytest.raises(KeyboardInterrupt):
            net(torch.rand(1, 2))
        Interrupted.interrupt = False
        for _ in range(2):
            net(torch.rand(1, 2))
            assert sys.gettrace() is None
    assert handle.hits == 1
    assert [stop.function for stop in stops] == ["test_ctrl_c_that_the_user_caught", "forward", "forward"]


def test_a_condition_that_fails_is_taken_off_and_says_so(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> bool:
        raise RuntimeError("out of luck")

    monkeypatch.setitem(answers.MEASURES, "norm", fails)
    handle = break_when("norm(output) > 1", at="head")
    model = Net()
    model(torch.rand(2, 4))
    assert handle.removed
    assert capfd.readouterr().err == (
        "torch-debugger: the breakpoint `norm(output) > 1 @ head` failed at model.head "
        "(RuntimeError: out of luck) and is taken off; the training goes on.\n"
    )


def test_without_a_terminal_it_prints_once_and_counts(capfd: pytest.CaptureFixture[str]) -> None:
    part = Functional()
    with break_when("nan(output)", at="part"):
        for _ in range(3):
            part(torch.zeros(2))
    first, *lines, last = capfd.readouterr().err.splitlines()
    assert first.startswith("torch-debugger: `nan(output) @ part` holds at step 1 in `part` (")
    assert first.endswith(" in forward)") and "models.py:" in first
    assert lines == [
        "  input: float32 [2] cpu  min 0  max 0  mean 0  std 0  zeros all",
        "  output: float32 [2] cpu  nothing finite  NaN 2",
        "  Not stopped: stdin is not a terminal.",
    ]
    assert last == "torch-debugger: `nan(output) @ part` held 3 times."


def test_a_glob_that_fits_nothing_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    part = Functional()
    with break_when("nan(output)", at="decoder.*"):
        part(torch.zeros(2))
    assert capfd.readouterr().err == (
        "torch-debugger: `nan(output) @ decoder.*` was never asked: no module that was called fits "
        "`decoder.*`. Called were `part`.\n"
    )


@pytest.mark.parametrize("word", ["0", "no.such.debugger"])
def test_the_environment_can_say_that_nothing_stops(
    word: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.setenv("PYTHONBREAKPOINT", word)
    with break_when("numel(output) > 0"):
        nn.ReLU()(torch.zeros(1))
    why = "is 0" if word == "0" else "names no.such.debugger, which cannot be imported"
    assert f"  Not stopped: PYTHONBREAKPOINT {why}." in capfd.readouterr().err.splitlines()


def my_debugger() -> None:
    my_stops.append(sys._getframe(1).f_locals["module"])


my_stops: list[nn.Module] = []


def test_the_environment_can_name_another_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.setenv("PYTHONBREAKPOINT", f"{__name__}.my_debugger")
    relu = nn.ReLU()
    with break_when("numel(output) > 0"):
        relu(torch.zeros(1))
    assert my_stops == [relu]


class Counts(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class Hears(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("kind", [Counts, Hears])
def test_modes_of_the_user_s_do_not_meet_ours(kind: Callable[[], Counts], stops: list[Stop]) -> None:
    net, x = Net(), torch.rand(2, 4)
    with kind() as plain:
        net(x)
    with kind() as watched, break_when("norm(output) > 1e9 or max(abs(output)) > 1e9"):
        net(x)
    assert watched.seen == plain.seen


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are what it is about")
def test_a_fork_does_not_stop(stops: list[Stop]) -> None:
    net = nn.Linear(2, 2)
    with break_when("numel(output) > 0"):
        child = os.fork()
        if child == 0:
            net(torch.zeros(1, 2))
            os._exit(len(stops))
        assert os.waitpid(child, 0)[1] == 0
        net(torch.zeros(1, 2))
    assert len(stops) == 1


def test_a_dead_model_is_forgotten() -> None:
    """And a new one at its address is not taken for it."""
    with break_when("numel(output) > 1e9", at="nothing.*") as handle:
        for _ in range(20):
            nn.Linear(2, 2)(torch.zeros(1, 2))
        known = handle._take_off.__self__._modules.paths._known
        assert len(known) <= 2
    assert math.isfinite(handle.hits)
