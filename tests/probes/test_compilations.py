"""torch's own list of compilations, read as records."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from torch_debugger.probes.model.torch_compile import Compilations
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Compilation

FILE = __file__


def metrics(compile_id: str, **others: Any) -> types.SimpleNamespace:
    facts: dict[str, Any] = {
        "compile_id": compile_id,
        "co_name": "forward",
        "co_filename": FILE,
        "co_firstlineno": 1,
        "entire_frame_compile_time_s": 0.25,
        "recompile_reason": None,
        "fail_reason": None,
        "restart_reasons": set(),
    }
    return types.SimpleNamespace(**{**facts, **others})


class Heard:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listed: list[Any] = []
        self.told: list[Compilation] = []
        dynamo: Any = types.ModuleType("torch._dynamo.utils")
        dynamo.get_compilation_metrics = lambda: list(self.listed)
        monkeypatch.setitem(sys.modules, "torch._dynamo.utils", dynamo)
        watch = Watch()
        watch.active = True
        watch.emit = self.told.append  # type: ignore[assignment, method-assign]
        self._compilations = Compilations(watch)

    def step(self, number: int) -> list[Compilation]:
        self.told.clear()
        self._compilations.step_done(number, {})
        return list(self.told)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    return Heard(monkeypatch)


def test_each_one_is_told_once(heard: Heard) -> None:
    assert heard.step(1) == []
    heard.listed.append(metrics("0/0"))
    [first] = heard.step(2)
    assert (first.frame, first.again, first.function, first.step) == (0, 0, "forward", 2)
    assert (first.place.line, first.seconds, first.reason, first.given_up) == (1, 0.25, "", False)
    assert heard.step(3) == []
    heard.listed.append(metrics("0/1"))
    heard.listed.append(metrics("1/0"))
    assert [(each.frame, each.again) for each in heard.step(4)] == [(0, 1), (1, 0)]


def test_why_again_is_told_with_its_line(heard: Heard) -> None:
    reason = (
        "0/0: self.calls == 0            # self.calls+=1  # net.py:6 in forward (HINT: integers are static)\n"
        f'User stack trace:\n  File "{FILE}", line 3, in forward\n    self.calls+=1'
    )
    heard.listed.append(metrics("0/1", recompile_reason=reason))
    [told] = heard.step(1)
    assert (told.reason, told.reason_place.line) == ("self.calls == 0", 3)


def test_a_size_that_changed(heard: Heard) -> None:
    heard.listed.append(
        metrics("2/1", recompile_reason="2/0: tensor 'x' size mismatch at index 0. expected 4, actual 5")
    )
    assert heard.step(1)[0].reason == "tensor 'x' size mismatch at index 0. expected 4, actual 5"


def test_a_part_of_a_function_stands_at_the_line_of_the_cut(heard: Heard) -> None:
    heard.listed.append(metrics("3/0", co_name="torch_dynamo_resume_in_forward_at_3"))
    [told] = heard.step(1)
    assert (told.is_part, told.function, told.place.line) == (True, "forward", 3)


def test_a_function_that_torch_gives_up(heard: Heard) -> None:
    failure = f'Data-dependent branching\n  Explanation: ...\n   File "{FILE}", line 5, in forward'
    heard.listed.append(metrics("0/0", fail_reason=failure))
    [told] = heard.step(1)
    assert (told.given_up, told.reason, told.reason_place.line) == (True, "Data-dependent branching", 5)


@pytest.mark.parametrize("compile_id", ["", None, "not one"])
def test_what_has_no_number_is_left_out(heard: Heard, compile_id: Any) -> None:
    heard.listed.append(metrics(compile_id))
    assert heard.step(1) == []


def test_a_backward_is_left_out(heard: Heard) -> None:
    heard.listed.append(metrics("0/0", entire_frame_compile_time_s=None))
    assert heard.step(1) == []


def test_without_dynamo_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch._dynamo.utils", raising=False)
    Compilations(Watch()).step_done(1, {})
