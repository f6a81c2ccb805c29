"""Other threads may log while a log closes: what it took is written once, the rest it refuses."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from tests.runlog.logs import read, scalars
from tests.runlog.test_waiting import hanging_log
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Scalars


def test_what_comes_while_a_log_closes_is_written_and_what_comes_later_is_refused(tmp_path: Path) -> None:
    log, disk = hanging_log(tmp_path, [])
    for step in range(5000):
        log.add_scalar("before", 0.5, step, 5.0)
    log.end()

    assert log.add_scalar("while", 0.5, 1, 5.0)
    assert log.add(scalars(1, "while it closes"))
    disk.may_go.set()
    log.close()
    assert not log.add_scalar("after", 0.5, 1, 5.0)
    assert not log.add(scalars(1, "after"))

    tags = [tag for record in read(tmp_path) if isinstance(record, Scalars) for tag in record.values]
    assert Counter(tags) == {"first": 1, "before": 5000, "while": 1, "while it closes": 1}


def test_a_log_that_ends_while_it_is_woken_stays_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    wake = log._wake
    monkeypatch.setattr(log, "_wake", lambda: (log.close(), wake()))

    assert log.add_scalar("loss", 0.5, 1, 5.0)
    assert not log.add_scalar("loss", 0.5, 2, 5.0)
    assert [record.step for record in read(tmp_path)] == [1]  # type: ignore[union-attr]


def test_a_point_is_written_once_or_refused_whenever_the_log_ends(tmp_path: Path) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for trial in range(20):
            log = LogWriter(tmp_path / str(trial), on_fault=print)
            taken: list[int] = []

            def add_many(log: LogWriter = log, taken: list[int] = taken) -> None:
                for step in range(10_000):
                    if not log.add_scalar("loss", 0.5, step, 5.0):
                        return
                    taken.append(step)

            thread = threading.Thread(target=add_many)
            thread.start()
            log.close()
            thread.join()

            assert [record.step for record in read(tmp_path / str(trial))] == taken  # type: ignore[union-attr]
    finally:
        sys.setswitchinterval(before)
