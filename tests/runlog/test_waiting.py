"""A disk that does not keep up: nobody waits for it, memory stays bounded, pictures go first."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.runlog.logs import event_file, faces, read, rows, scalars
from tests.runlog.test_faults import HeldDisk, on, wait_until
from torch_debugger.log import writer
from torch_debugger.log import writer as waiting
from torch_debugger.log.encoder import Encoder
from torch_debugger.log.writer import LogWriter, Waiting
from torch_debugger.records import Notice, Record, Scalars, TensorRows


@dataclass(frozen=True)
class Picture:
    step: int
    nbytes: int
    droppable: ClassVar[bool] = True


def picture(step: int, size: int = 40) -> Any:
    return Picture(step, size)


def lanes() -> Waiting:
    return Waiting(Encoder(10**9, print).encode_points)


def steps(records: list[Record]) -> list[int]:
    return [record.step for record in records]  # type: ignore[union-attr]


@pytest.fixture
def room_for_100_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_MOST_BYTES", 100)


def hanging_log(folder: Path, faults: list[str]) -> tuple[LogWriter, HeldDisk]:
    """A log whose thread hangs in a write."""
    log = LogWriter(folder, on_fault=faults.append)
    disk = HeldDisk(event_file(folder))
    on(disk, log)
    log.add(scalars(0, "first"))
    wait_until(lambda: not log._waiting)
    return log, disk


@pytest.mark.usefixtures("room_for_100_bytes")
def test_the_oldest_pictures_give_way_to_newer_ones() -> None:
    queue = lanes()
    for step in range(5):
        queue.add(picture(step))

    assert queue.take_left_out() == {"pictures or sounds": 3}
    assert steps(queue.take_pictures(10)) == [3, 4]
    assert queue.take_left_out() == {}


@pytest.mark.usefixtures("room_for_100_bytes")
def test_pictures_give_way_to_rows_and_rows_to_nobody() -> None:
    row = rows(1)
    assert row.values.nbytes == 48
    queue = lanes()
    queue.add(picture(0))
    queue.add(picture(1))
    for step in range(2, 6):
        queue.add(rows(step))
    queue.add(picture(6))
    queue.add(Notice("small facts are always taken", 7))

    assert queue.take_left_out() == {"pictures or sounds": 3, "records": 2}
    assert steps(queue.take_records(10)) == [2, 3, 7]
    assert queue.take_pictures(10) == []


@pytest.mark.usefixtures("room_for_100_bytes")
def test_there_is_room_again_when_something_was_taken() -> None:
    queue = lanes()
    for step in range(10):
        queue.add(picture(step))
        queue.add(rows(step))
        queue.take_pictures(1)
        queue.take_records(1)

    assert queue.take_left_out() == {}


@pytest.mark.usefixtures("room_for_100_bytes")
def test_one_picture_larger_than_all_room_is_taken_when_nothing_else_waits() -> None:
    queue = lanes()
    queue.add(picture(0, size=10**9))

    assert steps(queue.take_pictures(1)) == [0]


def test_a_gap_is_told_in_the_log_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_MOST_BYTES", 2 * rows(0).values.nbytes)
    faults: list[str] = []
    log, disk = hanging_log(tmp_path, faults)
    for step in range(5):
        log.add(rows(step))
    disk.may_go.set()
    log.close()

    assert [record.text for record in read(tmp_path) if isinstance(record, Notice)] == [
        "The log did not keep up: 3 records are missing here."
    ]
    assert faults == [f"The run log in {tmp_path} lacks 3 records: they came faster than they could be written."]


def test_numbers_by_the_hundred_thousand_wait_for_a_hanging_disk_and_none_is_lost(tmp_path: Path) -> None:
    faults: list[str] = []
    log, disk = hanging_log(tmp_path, faults)
    count = 100_000
    for step in range(count):
        log.add_scalar("loss", step, step, 5.0)
    packed = log._waiting._packed.bytes

    assert len(log._waiting.points) <= waiting._MOST_POINTS
    assert 40 < packed / (count - waiting._MOST_POINTS) < 50  # bytes a number, as in the file

    disk.may_go.set()
    log.close()
    assert faults == []
    curve = [record.values["loss"] for record in read(tmp_path)[1:]]  # type: ignore[union-attr]
    assert len(curve) == count
    np.testing.assert_array_equal(curve, np.arange(count))


def test_numbers_beyond_the_last_limit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_MOST_POINTS", 100)
    monkeypatch.setattr(waiting, "PACKED_TOGETHER", 50)
    monkeypatch.setattr(waiting, "_MOST_PACKED_BYTES", 5000)
    monkeypatch.setattr(writer, "_MANY_POINTS", 10)
    faults: list[str] = []
    log, disk = hanging_log(tmp_path, faults)
    for step in range(1000):
        log.add_scalar("loss", step, step, 5.0)
    disk.may_go.set()
    log.close()

    kept = [record.step for record in read(tmp_path) if isinstance(record, Scalars)][1:]
    (notice,) = [record.text for record in read(tmp_path) if isinstance(record, Notice)]
    lost = 1000 - len(kept)
    assert 0 < lost < 1000
    assert kept == sorted(kept)
    assert notice == f"The log did not keep up: {lost} scalars are missing here."
    assert len(faults) == 1


def test_a_slow_disk_slows_nobody(tmp_path: Path) -> None:
    log, disk = hanging_log(tmp_path, [])
    size = event_file(tmp_path).stat().st_size
    for step in range(20_000):
        log.add_scalar("loss", 0.5, step, 5.0)
        if step % 10 == 0:
            log.add(scalars(step, "lr"))
        if step % 100 == 0:
            log.add(TensorRows(step, rows(0).table, rows(0).values))
    assert event_file(tmp_path).stat().st_size == size  # all was added while the first write hangs
    disk.may_go.set()
    log.close()

    assert len(faces(read(tmp_path))) == 1 + 20_000 + 2000 + 200


def test_points_that_cannot_be_packed_now_wait_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(points: object) -> bytes:
        raise FloatingPointError

    monkeypatch.setattr(waiting, "_MOST_POINTS", 10)
    queue = Waiting(fail)
    points = [("loss", 0.5, step, 5.0) for step in range(20)]
    queue.points.extend(points)

    with pytest.raises(FloatingPointError):
        queue.pack_points()

    assert list(queue.points) == points


@pytest.mark.usefixtures("room_for_100_bytes")
def test_pictures_may_come_and_go_in_several_threads() -> None:
    queue, faults = lanes(), []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def add_many() -> None:
        try:
            for step in range(3000):
                queue.add(picture(step))
        except IndexError as error:
            faults.append(error)

    threads = [threading.Thread(target=add_many) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            queue.take_pictures(1)
    finally:
        sys.setswitchinterval(before)
    rest = len(queue.take_pictures(5))

    assert (faults, rest <= 2, queue._pictures.bytes) == ([], True, 0)
