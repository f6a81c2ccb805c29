"""`torch_debugger.syncs()`: torch's warnings of waits, counted by line. Played here without a GPU."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

import torch_debugger

WARNING = "called a synchronizing CUDA operation (Triggered internally at CUDAFunctions.cpp:150.)"


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The modes that were set, on a machine that says it has a GPU and was in mode 0."""
    set_to: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: set_to[-1] if set_to else 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", set_to.append)
    return set_to


def wait() -> None:
    """As torch warns: from the line that called it."""
    warnings.warn(WARNING, UserWarning, stacklevel=2)


def line_of(mark: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.endswith(f"# {mark}"))


def test_waits_are_counted_by_line(modes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("torch_debugger.runner.profile_blocks.say", said.append)
    before, filters = warnings.showwarning, list(warnings.filters)
    with torch_debugger.syncs() as waits:
        for _ in range(3):
            warnings.warn_explicit(WARNING, UserWarning, __file__, 1)  # in a loop
        warnings.warn_explicit(WARNING, UserWarning, __file__, 1)  # once
    assert [(each.place.line, each.count) for each in waits.found] == [(line_of("in a loop"), 3), (line_of("once"), 1)]
    assert modes == [1, 0]
    assert warnings.showwarning is before
    assert list(warnings.filters) == filters
    (sentence,) = said
    assert sentence.splitlines()[0] == "The host waited for the GPU 4 times:"
    assert f"3 x  tests/doors/test_syncs.py:{line_of('in a loop')}  warnings.warn_explicit(" in sentence


def test_nothing_is_said_of_waits_where_there_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with torch_debugger.syncs(quiet=True) as waits:
        pass
    assert str(waits) == "This torch sees no CUDA device: there is nothing that the host could wait for."


def test_other_warnings_go_their_way(modes: list[int]) -> None:
    with warnings.catch_warnings(record=True) as heard, torch_debugger.syncs(quiet=True) as waits:
        warnings.simplefilter("always")
        warnings.warn("something else", UserWarning, stacklevel=1)
        wait()
    assert [str(each.message) for each in heard] == ["something else"]
    assert len(waits.found) == 1


def test_the_mode_comes_back_after_an_exception(modes: list[int]) -> None:
    before = warnings.showwarning
    with pytest.raises(KeyError), torch_debugger.syncs(quiet=True):
        raise KeyError
    assert modes == [1, 0]
    assert warnings.showwarning is before


def test_a_block_without_waits(modes: list[int]) -> None:
    with torch_debugger.syncs(quiet=True) as waits:
        pass
    assert str(waits) == "The host waited for the GPU nowhere in this block, as far as torch tells."


def test_a_decorator_and_a_second_use(modes: list[int]) -> None:
    waits = torch_debugger.syncs(quiet=True)

    @waits
    def work() -> None:
        wait()

    work()
    work()
    assert [each.count for each in waits.found] == [1], "of the last block"


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    said: list[str] = []
    monkeypatch.setattr("torch_debugger.runner.profile_blocks.say", said.append)
    with torch_debugger.syncs() as waits:
        pass
    assert said == ["torch_debugger.syncs() does nothing here: this torch sees no CUDA device to wait for."]
    assert waits.found == ()
