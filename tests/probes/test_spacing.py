"""Often at first, and ever more rarely: of a week no more than a few thousand."""

from __future__ import annotations

import pytest

from torch_debugger.probes import schedule as spacing
from torch_debugger.probes.schedule import Spacing


def _told(monkeypatch: pytest.MonkeyPatch, seconds: int, times: int) -> list[int]:
    monkeypatch.setattr(spacing.time, "monotonic", lambda: 0.0)
    spaced, told = Spacing(1.0, times), []
    for now in range(seconds):
        if spaced.is_time(now):
            spaced.done(now)
            told.append(now)
    return told


def test_at_first_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _told(monkeypatch, 100, times=200) == list(range(100))


def test_no_more_than_some_thousands_in_a_week(monkeypatch: pytest.MonkeyPatch) -> None:
    told = _told(monkeypatch, 7 * 24 * 3600, times=1000)
    assert 2000 < len(told) < 10_000
    last, before = told[-1], told[-2]
    assert last - before <= last / 500  # and still as often, measured by the length of the run
