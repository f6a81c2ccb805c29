"""A debugger for tests: whoever stops is written down with the frame, its line and its variables."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from torch_debugger.probes import breakpoints as setting


@dataclass
class Stop:
    function: str
    line: str
    names: dict[str, Any]


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[Stop]:
    """Every stop, in order."""
    seen: list[Stop] = []

    def debugger() -> None:
        frame = sys._getframe(1)
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        seen.append(Stop(frame.f_code.co_name, line, dict(frame.f_locals)))

    monkeypatch.setattr(sys, "breakpointhook", debugger)
    return seen


@pytest.fixture
def at_stop(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """What is done at the prompt."""
    return lambda deed: monkeypatch.setattr(sys, "breakpointhook", deed)


@pytest.fixture(autouse=True)
def same_weights() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert setting._current is None, "a breakpoint is still set"
