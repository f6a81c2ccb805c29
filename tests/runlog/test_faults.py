"""Whatever the disk does, the training hears of it once and goes on."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runlog.logs import event_file, faces, read, rows, scalars, small_run, write
from torch_debugger.log import writer
from torch_debugger.log import writer as appending
from torch_debugger.log import writer as waiting
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Notice, Record
from torch_debugger.system.errors import DebuggerError


class FullDisk(io.FileIO):
    """Takes some bytes, then no more."""

    def __init__(self, path: Path, room: int) -> None:
        super().__init__(path, "a")
        self.room = room

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = min(self.room, len(data))
        self.room -= taken
        return super().write(data[:taken])


class SmallBites(io.FileIO):
    """Takes a few bytes at a time, as a file may."""

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        return super().write(data[:10])


class HeldDisk(io.FileIO):
    """Does not answer before it is let go."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "a")
        self.may_go = threading.Event()

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        self.may_go.wait(60)
        return super().write(data)


def on(disk: io.FileIO, log: LogWriter) -> None:
    log.flush()  # behind the first bytes, which are its own thread's to write
    log._appender.close()
    log._appender.file = disk


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def test_a_full_disk_is_said_once_and_what_fitted_reads(tmp_path: Path) -> None:
    faults: list[str] = []
    log = LogWriter(tmp_path, on_fault=faults.append)
    on(FullDisk(event_file(tmp_path), room=1000), log)
    records = [scalars(step, "loss", "lr/0") for step in range(500)]
    for record in records:
        log.add(record)
        log.flush() if record.step % 100 == 0 else None
    log.flush()
    log.close()

    assert faults == [
        f"The run log in {tmp_path} ends early: No space left on device. The training goes on without it."
    ]
    got = read(tmp_path)
    assert faces(got) == faces(records[: len(got)])
    assert 5 < len(got) < 30
    assert not log._waiting  # nothing piles up


def test_a_file_that_takes_few_bytes_at_a_time_gets_all(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    on(SmallBites(event_file(tmp_path), "a"), log)
    for record in small_run():
        log.add(record)
    log.close()

    assert faces(read(tmp_path)) == faces(small_run())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device that is always full is Linux's")
def test_the_device_that_is_always_full(tmp_path: Path) -> None:
    faults: list[str] = []
    log = LogWriter(tmp_path, on_fault=faults.append)
    on(io.FileIO("/dev/full", "w"), log)
    log.add(scalars(1, "loss"))
    log.close()

    assert len(faults) == 1
    assert "No space left on device" in faults[0]


FILLS_A_SMALL_DISK = """
import sys
from torch_debugger.records import Scalars
from torch_debugger.log.writer import LogWriter
from torch_debugger.log.reader_records import read_log

log = LogWriter(sys.argv[1], on_fault=print)
for step in range(5000):
    log.add(Scalars(step, 0.0, {"loss": float(step)}))
log.close()
steps = [record.step for record in read_log(sys.argv[1])]
assert steps == list(range(len(steps))) and 500 < len(steps) < 5000, len(steps)
"""


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    probe = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
    return subprocess.run(probe, capture_output=True).returncode == 0


def test_a_small_disk_really_full(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("this system lets us mount no tmpfs; the raising file stands for it")
    mount = 'mount -t tmpfs -o size=64k tmpfs "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "-rm", "sh", "-c", mount, "sh", str(tmp_path), sys.executable, FILLS_A_SMALL_DISK]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert ended.stderr == ""
    assert ended.returncode == 0
    assert ended.stdout.count("ends early: No space left on device") == 1


def test_a_folder_deleted_in_mid_run_is_said_once(tmp_path: Path) -> None:
    faults: list[str] = []
    folder = tmp_path / "log"
    log = LogWriter(folder, on_fault=faults.append)
    log.add(scalars(1, "loss"))
    log.flush()
    assert faults == []

    shutil.rmtree(folder)
    for step in range(2, 5):
        log.add(scalars(step, "loss"))
        log.flush()
    log.close()

    assert faults == [f"The run log in {folder} was deleted during the run; none of it will be left."]
    assert not folder.exists()


def test_a_held_disk_holds_nobody_and_the_gap_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_MOST_RECORDS", 50)
    monkeypatch.setattr(waiting, "_MOST_BYTES", 3 * rows(0).values.nbytes)
    log = LogWriter(tmp_path, on_fault=print)
    disk = HeldDisk(event_file(tmp_path))
    on(disk, log)
    first = scalars(0, "loss")
    log.add(first)
    wait_until(lambda: not log._waiting)  # taken by the thread, which now hangs in the write
    some_rows = [rows(step) for step in range(1, 6)]
    many = [scalars(step, "loss") for step in range(1, 101)]
    for record in [*some_rows, *many]:
        log.add(record)
    assert len(log._waiting) == 50

    disk.may_go.set()
    log.close()

    kept: list[Record] = [first, *some_rows[:3], *many[:47]]
    gap = Notice("The log did not keep up: 55 records are missing here.", 47)
    assert faces(read(tmp_path)) == faces([*kept, gap])


def test_flush_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_FLUSH_WAIT_S", 0.05)
    monkeypatch.setattr(writer, "_CLOSE_WAIT_S", 0.05)
    faults: list[str] = []
    log = LogWriter(tmp_path, on_fault=faults.append)
    disk = HeldDisk(event_file(tmp_path))
    on(disk, log)
    log.add(scalars(1, "loss"))

    log.flush()
    log.close()

    assert faults == [f"The run log in {tmp_path} is incomplete: the disk did not answer at the end."]
    disk.may_go.set()
    log._thread.join(10)


def test_a_folder_that_cannot_be_made_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    folder = tmp_path / "file" / "log"

    with pytest.raises(DebuggerError) as refused:
        LogWriter(folder, on_fault=print)

    assert str(refused.value) == (
        f"The run log cannot be written to {str(folder)!r}: Not a directory. "
        "Name a folder that can be written with --log-dir, or keep no log with --no-log."
    )


def test_a_fault_of_ours_ends_the_log_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_debugger.log.encoder.frame", lambda payloads: 1 / 0)
    faults: list[str] = []
    with monkeypatch.context() as only_for_start:
        only_for_start.setattr("torch_debugger.log.encoder.Encoder.start", lambda *purge: b"")
        log = LogWriter(tmp_path, on_fault=faults.append)
    log.add(scalars(1, "loss"))
    log.close()

    (fault,) = faults
    assert "ends early: a fault of torch-debugger, ZeroDivisionError" in fault


def test_a_wrong_record_is_told_once_a_sentence(tmp_path: Path) -> None:
    unfit = Notice(text={"a", "set"}, step=1)  # type: ignore[arg-type]

    faults = write(tmp_path, [unfit, unfit, scalars(1, "loss")])

    assert faults == ["A record of kind Notice was left out of the log: Object of type set is not JSON serializable."]
    assert faces(read(tmp_path)) == faces([scalars(1, "loss")])


def test_close_waits_as_long_as_a_slow_disk_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_CLOSE_WAIT_S", 1.5)
    monkeypatch.setattr(waiting, "_TAG_CHARACTERS", 1000)
    monkeypatch.setattr(appending, "write_all", slowly(appending.write_all))
    faults: list[str] = []
    log = LogWriter(tmp_path, on_fault=faults.append)
    for step in range(90):
        log.add_scalar("x" * 300, float(step), step, 5.0)  # written three at a time

    log.close()  # needs 30 writes, longer than it would wait for one

    assert (faults, len(read(tmp_path))) == ([], 90)


def slowly(write_all: Callable[[io.FileIO, bytes], None]) -> Callable[[io.FileIO, bytes], None]:
    def write(file: io.FileIO, data: bytes) -> None:
        time.sleep(0.07)
        write_all(file, data)

    return write
