"""Every script of a crash is run as if it were alone in the process, and on a machine that has time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import time_limits
from tests.checks.crashes.scripts import no_process_group
from torch_debugger.crashes import loading_samples as loading_refetch


@pytest.fixture(autouse=True)
def no_process_group_stays() -> Iterator[None]:
    with no_process_group():
        yield


@pytest.fixture(autouse=True)
def looking_at_a_crash_may_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, value in time_limits.lifted():
        monkeypatch.setattr(owner, name, value)
    monkeypatch.setattr(loading_refetch.fetch_again, "__defaults__", (time_limits.A_LONG_TIME_S,))


@pytest.fixture(params=["with positions", "without"])
def with_and_without_positions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 3.11 Python does not tell which expression raised."""
    if request.param == "without":
        monkeypatch.setattr("torch_debugger.crashes.frames.failing_expression", lambda *_: "")
