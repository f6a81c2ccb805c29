"""How a log's file is named and begun, whatever clock and disk do."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from tests.runlog.logs import faces, read, scalars, write
from tests.runlog.peers import tensorboard_run
from tests.runlog.test_rotation import run_until, steps_and_values
from torch_debugger.log import event_files as logfile
from torch_debugger.log.event_files import LogFile
from torch_debugger.log.reader_records import event_files
from torch_debugger.log.writer import LogWriter


def test_a_restart_after_the_clock_was_set_back_takes_back_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_until(tmp_path, range(10), 1)
    an_hour_ago = time.time_ns() - 3600 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: an_hour_ago)
    run_until(tmp_path, range(5, 7), -1, purge_step=5)

    expected = [(step, float(step)) for step in range(5)] + [(5, -5.0), (6, -6.0)]
    assert steps_and_values(tmp_path) == expected
    assert [(point.step, point.value) for point in tensorboard_run(tmp_path).Scalars("loss")] == expected


def test_files_of_one_second_are_in_the_order_of_their_making(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "events.out.tfevents.1700000000.host.77.0").write_bytes(b"")
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000 * 10**9)
    names = []
    for pid in (99990, 100001, 5):
        with monkeypatch.context() as process:
            process.setattr(logfile, "getpid", lambda pid=pid: pid)
            write(tmp_path, [scalars(1, "loss")])
        names += [name for name in map(os.path.basename, event_files(tmp_path)) if f".{pid}." in name]

    assert len(names) == 3
    assert [os.path.basename(path) for path in event_files(tmp_path)][1:] == names


def test_the_training_waits_for_no_first_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    may_go, writing = threading.Event(), LogFile.write

    def held(file: LogFile, data: memoryview) -> int:
        may_go.wait(60)
        return writing(file, data)

    monkeypatch.setattr(LogFile, "write", held)
    log = LogWriter(tmp_path, on_fault=print)
    log.add(scalars(1, "loss"))
    assert event_files(tmp_path) and os.path.getsize(event_files(tmp_path)[0]) == 0
    may_go.set()
    log.close()

    assert faces(read(tmp_path)) == faces([scalars(1, "loss")])
