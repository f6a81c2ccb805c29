"""A log of more files than a process may have open, as a thousand ranks write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runlog.logs import scalars
from torch_debugger.log import reader_records as reader
from torch_debugger.log.reader_records import LogFollower
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Scalars

RANKS = 5


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[LogWriter]:
    """Of five ranks, of which two may stay open."""
    monkeypatch.setattr(reader, "_KEPT_OPEN", 2)
    return [LogWriter(tmp_path, on_fault=print, rank=rank) for rank in range(RANKS)]


def tell(logs: list[LogWriter], step: int) -> None:
    for log in logs:
        log.add(scalars(step, "loss"))
        log.flush()


def steps(follower: LogFollower, *, now_and_then: bool = False) -> dict[int | None, list[int]]:
    found: dict[int | None, list[int]] = {}
    for rank, record in follower.read_ranks_on(now_and_then=now_and_then):
        assert isinstance(record, Scalars)
        found.setdefault(rank, []).append(record.step)
    return found


def test_all_files_are_read_on_although_few_stay_open(logs: list[LogWriter], tmp_path: Path) -> None:
    follower = LogFollower(tmp_path)
    for step in (1, 2, 3):
        tell(logs, step)
        assert steps(follower) == {rank: [step] for rank in range(RANKS)}
    assert steps(follower) == {}
    assert sum(not growing.file.closed for growing in follower._files.values()) == 2
    for log in logs:
        log.close()
    follower.close()


def test_whoever_asks_all_the_time_hears_of_the_others_once_a_second(
    logs: list[LogWriter], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr(reader.time, "monotonic", lambda: now_s)
    follower = LogFollower(tmp_path)
    tell(logs, 1)
    assert len(steps(follower, now_and_then=True)) == RANKS
    tell(logs, 2)
    assert steps(follower, now_and_then=True) == {0: [2], 1: [2]}
    now_s += 1.5
    assert steps(follower, now_and_then=True) == {2: [2], 3: [2], 4: [2]}
    tell(logs, 3)
    assert len(steps(follower)) == RANKS, "at the end everything is read at once"
    for log in logs:
        log.close()
    follower.close()
