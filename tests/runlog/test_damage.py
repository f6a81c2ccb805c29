"""A damaged log gives the records before the damage: no exception, and nothing that was never written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.runlog.logs import event_file, faces, read, small_run, write
from tests.runlog.peers import tensorboard_events
from torch_debugger.log.tfrecord import frame, unframe
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Record, Scalars


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    write(tmp_path / "whole", small_run())
    return event_file(tmp_path / "whole").read_bytes()


def read_bytes(folder: Path, data: bytes) -> list[Record]:
    folder.mkdir(exist_ok=True)
    (folder / "events.out.tfevents.1").write_bytes(data)
    return read(folder)


def test_cut_at_every_byte(tmp_path: Path, whole: bytes) -> None:
    expected = faces(small_run())
    counts = []
    for end in range(len(whole) + 1):
        got = faces(read_bytes(tmp_path / "cut", whole[:end]))
        assert got == expected[: len(got)]
        counts.append(len(got))
    assert counts == sorted(counts)
    assert counts[-1] == len(expected)
    assert set(counts) == set(range(len(expected) + 1))  # each record is there as soon as its last byte is


@pytest.fixture
def of_points(tmp_path: Path) -> bytes:
    """Single numbers, some of them packed together, of a run that was begun again."""
    log = LogWriter(tmp_path / "points", on_fault=print, purge_step=3)
    for step in (3, 4, 300):
        for tag in ("loss", "größe", "loss"):
            log.add_scalar(tag, step / 4, step, 1.7e9)
    log.close()
    return event_file(tmp_path / "points").read_bytes()


def test_points_cut_at_every_byte(tmp_path: Path, of_points: bytes) -> None:
    expected = faces(read_bytes(tmp_path / "whole", of_points))
    assert len(expected) == 6
    counts = []
    for end in range(len(of_points) + 1):
        got = faces(read_bytes(tmp_path / "cut", of_points[:end]))
        assert got == expected[: len(got)]
        counts.append(len(got))
    assert counts == sorted(counts)
    assert set(counts) == set(range(7))


@pytest.mark.parametrize("flipped", [0x01, 0x10, 0x80, 0xFF])
def test_points_with_any_byte_flipped(tmp_path: Path, of_points: bytes, flipped: int) -> None:
    expected = faces(read_bytes(tmp_path / "whole", of_points))
    for place in range(len(of_points)):
        damaged = bytearray(of_points)
        damaged[place] ^= flipped
        got = faces(read_bytes(tmp_path / "flipped", bytes(damaged)))
        assert got == expected[: len(got)]
        assert len(got) < len(expected)


def test_a_damaged_restart_takes_nothing_back(tmp_path: Path, of_points: bytes) -> None:
    folder = tmp_path / "two files"
    folder.mkdir()
    write(tmp_path / "first", small_run())
    (folder / "events.out.tfevents.0").write_bytes(event_file(tmp_path / "first").read_bytes())
    untouched = faces(record for record in small_run() if getattr(record, "step", 0) < 3)
    restart_ends = len(frame(unframe(of_points)[:2]))
    for place in range(restart_ends):
        damaged = bytearray(of_points)
        damaged[place] ^= 0x20
        (folder / "events.out.tfevents.1").write_bytes(damaged)
        assert faces(read(folder)) == faces(small_run())
    (folder / "events.out.tfevents.1").write_bytes(of_points)
    assert faces(read(folder))[: len(untouched)] == untouched


def test_tensorboard_stops_at_the_same_event(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "events.out.tfevents.1"
    for end in random.Random(0).sample(range(40, len(whole)), 25):
        path.write_bytes(whole[:end])
        assert len(tensorboard_events(path)) == len(unframe(whole[:end]))


def test_a_byte_flipped_anywhere(tmp_path: Path, whole: bytes) -> None:
    expected = faces(small_run())
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= (0x01, 0x80, 0xFF)[place % 3]
        got = faces(read_bytes(tmp_path / "flipped", bytes(damaged)))
        assert got == expected[: len(got)]
        assert len(got) < len(expected)


def test_a_hole_of_zeros_ends_the_reading(tmp_path: Path, whole: bytes) -> None:
    half = len(whole) // 2
    got = faces(read_bytes(tmp_path / "hole", whole[:half] + bytes(500) + whole[half:]))

    assert got == faces(small_run())[: len(got)]


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_no_log(tmp_path: Path, seed: int) -> None:
    assert read_bytes(tmp_path / "noise", random.Random(seed).randbytes(5000)) == []


def test_sound_frames_with_foreign_content_are_passed_over(tmp_path: Path, whole: bytes) -> None:
    dice = random.Random(3)
    noise = frame([dice.randbytes(size) for size in (0, 1, 3, 8, 100, 1000)])

    records = read_bytes(tmp_path / "foreign", whole + noise + whole)

    ours = [record for record in records if not isinstance(record, Scalars) or record.values]
    assert faces(ours) == faces([*small_run(), *small_run()])


def test_a_folder_that_is_absent_or_a_file_is_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    assert read(tmp_path / "absent") == []
    assert read(tmp_path / "file") == []
    (tmp_path / "folder" / "events.out.tfevents.is-a-folder").mkdir(parents=True)
    assert read(tmp_path / "folder") == []
