"""`stop_at`, for whoever has found something: a debugger in that frame, or a few lines and on."""

from __future__ import annotations

import bdb
import sys
import threading
import types
from collections.abc import Callable
from types import FrameType

import pytest
import torch

from tests.breakpoints.conftest import Stop
from torch_debugger.probes.breakpoints_hooks import nearest_user_frame
from torch_debugger.probes.breakpoints_stops import NoStopError, named_debugger, post_mortem, stop_at
from torch_debugger.settings import Settings


def here(x: torch.Tensor) -> None:
    stop_at(sys._getframe(), "the loss is NaN at step 3", {"output": x * 2, "module": torch.nn.ReLU(), "loss": 0.5})


def test_it_prints_and_goes_on_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    here(torch.ones(2))
    first, *lines = capfd.readouterr().err.splitlines()
    assert first.startswith("torch-debugger: the loss is NaN at step 3 (")
    assert first.endswith(" in here)")
    assert lines == [
        "  output: float32 [2] cpu  min 2  max 2  mean 2  std 0  zeros 0",
        "  loss: 0.5",
        "  Not stopped: stdin is not a terminal.",
    ]


def test_it_stops_in_the_frame_it_is_given(stops: list[Stop], capfd: pytest.CaptureFixture[str]) -> None:
    here(torch.ones(2))
    assert capfd.readouterr().err.endswith("  At hand: output, module, loss.\n")
    (stop,) = stops
    assert stop.function == "here" and stop.line.startswith("stop_at(")
    assert stop.names["x"].tolist() == [1, 1] and stop.names["output"].tolist() == [2, 2]


def test_quitting_another_debugger_ends_the_script_with_1(
    at_stop: Callable[[Callable[[], object]], None], capfd: pytest.CaptureFixture[str]
) -> None:
    def quits() -> None:
        raise bdb.BdbQuit

    at_stop(quits)
    with pytest.raises(SystemExit) as raised:
        here(torch.ones(2))
    assert raised.value.code == 1
    assert capfd.readouterr().err.splitlines()[-1].startswith("torch-debugger: quit at the prompt, ")


def test_what_else_a_debugger_raises_is_its_own_affair(at_stop: Callable[[Callable[[], object]], None]) -> None:
    at_stop(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        here(torch.ones(2))


def test_a_closed_stdin_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    monkeypatch.setattr(sys, "__stdin__", None)
    with pytest.raises(NoStopError, match="stdin is not a terminal"):
        named_debugger()


@pytest.mark.parametrize("answers", [True, False])
def test_a_notebook_answers_where_its_front_end_does(answers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(kernel=types.SimpleNamespace(_allow_stdin=answers))
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    if answers:
        assert named_debugger() is None
    else:
        with pytest.raises(NoStopError):
            named_debugger()


def test_a_thread_of_autograd_s_finds_the_frame_of_the_main_one() -> None:
    found: list[FrameType] = []
    code = compile("found.append(look())", "<frozen engine>", "exec")
    thread = threading.Thread(target=exec, args=(code, {"found": found, "look": nearest_user_frame}))
    thread.start()
    thread.join()
    assert found[0].f_code.co_name == "test_a_thread_of_autograd_s_finds_the_frame_of_the_main_one"


def test_a_post_mortem_says_why_there_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    post_mortem(None)
    try:
        raise ZeroDivisionError
    except ZeroDivisionError as error:
        post_mortem(error.__traceback__)
    assert capfd.readouterr().err.splitlines() == [
        "torch-debugger: --pdb: the crash left no frame to look into.",
        "torch-debugger: --pdb needs a terminal, and stdin or stdout is none: there is no post-mortem.",
    ]


def test_breakpoints_travel_to_the_child() -> None:
    settings = Settings(breaks=("nan(output) @ encoder.*", "step == 3"), post_mortem=True)
    assert Settings.from_json(settings.to_json()) == settings
