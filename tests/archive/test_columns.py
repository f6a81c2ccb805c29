"""Columns hold what the slow way finds, bit by bit: of every writer's file, whole, cut or damaged."""

from __future__ import annotations

import bisect
import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorboardX
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.tensorboard import SummaryWriter

from tests.archive.slow import columns_of, frame_ends, read_bytes, read_file, slow_scalars
from tests.runlog.logs import event_file, rows, scalars, write
from torch_debugger.log import decoder_columns, tfrecord
from torch_debugger.log import reader_columns as event_files
from torch_debugger.log.reader_columns import Columns
from torch_debugger.log.run import Run
from torch_debugger.log.scalar_events import scalar_events
from torch_debugger.log.tfrecord import frame
from torch_debugger.records import Record, Scalars

TAGS = st.text(st.characters(codec="utf-8"), max_size=6)
STEPS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300)
TIMES = st.floats(0, 4e9)
NUMBERS = st.floats(width=32)


def torch_log(folder: Path, steps: int = 4) -> bytes:
    """Steps that outgrow one byte, two tags of one length, one of another, and the newer forms."""
    with SummaryWriter(str(folder)) as writer:
        for step in range(126, 126 + steps):
            writer.add_scalar("loss", step / 3, step, walltime=1e9 + step)
            writer.add_scalar("rate", float("nan") if step % 2 else step, step, walltime=1e9 + step)
            writer.add_scalar("accuracy", step, step, new_style=True)
            writer.add_scalar("exact", step / 3, step, new_style=True, double_precision=True)
    return event_file(folder).read_bytes()


def our_log(folder: Path) -> bytes:
    records: list[Record] = [scalars(step, "loss", "lr/0", "lr/1") for step in range(126, 132)]
    write(folder, [*records, rows(132), *records[:3], scalars(140, "end")])
    return event_file(folder).read_bytes()


@pytest.fixture
def columns_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small logs go through the columns as well."""
    monkeypatch.setattr(decoder_columns, "FEWEST", 2)
    monkeypatch.setattr(tfrecord, "_WALKS", (4, 8))


@pytest.fixture(params=[torch_log, our_log], ids=["torch", "ours"])
def log(request: pytest.FixtureRequest, tmp_path: Path, columns_of_two: None) -> bytes:
    data: bytes = request.param(tmp_path / "whole")
    return data


def test_columns_are_used_at_all(log: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else everything below compares the slow way with itself."""
    pieces: list[decoder_columns.EventPiece] = []
    read_rows = decoder_columns.read_rows

    def remembered(rows: decoder_columns.Rows) -> Iterator[object]:
        for answer in read_rows(rows):
            if isinstance(answer, decoder_columns.EventPiece):
                pieces.append(answer)
            yield answer

    monkeypatch.setattr(decoder_columns, "read_rows", remembered)

    found = read_bytes(tmp_path / "read", log)

    counted = sum(len(points.steps) for piece in pieces for points in piece.points)
    assert counted > 0.7 * sum(map(len, found.values()))


def test_a_whole_log(log: bytes, tmp_path: Path) -> None:
    assert read_bytes(tmp_path / "read", log) == slow_scalars(log)
    assert len(slow_scalars(log)["loss"]) > 3


def places_in(log: bytes) -> list[int]:
    """Every byte around the borders of the frames, and every seventh of the others: all fields of all kinds."""
    near = {end + shift for end in [0, *frame_ends(log)] for shift in (-1, 0, 1)}
    return sorted(place for place in near | set(range(0, len(log), 7)) if 0 <= place < len(log))


def test_cut_anywhere(log: bytes, tmp_path: Path) -> None:
    ends = frame_ends(log)
    for end in places_in(log):
        frames = bisect.bisect_right(ends, end)
        file = read_file(tmp_path / "cut", log[:end])
        assert columns_of(file) == slow_scalars(log, frames)
        assert bool(file.damage) == (end not in [0, *ends])


def test_a_byte_flipped_anywhere(log: bytes, tmp_path: Path) -> None:
    ends = frame_ends(log)
    for place in places_in(log):
        damaged = bytearray(log)
        damaged[place] ^= (0x01, 0x80, 0xFF)[place % 3]
        file = read_file(tmp_path / "flipped", bytes(damaged))
        assert columns_of(file) == slow_scalars(log, bisect.bisect_right(ends, place))
        assert file.damage


def test_read_in_small_parts(log: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (7, 64, 200):
        monkeypatch.setattr(event_files, "_CHUNK_BYTES", size)
        assert read_bytes(tmp_path / "read", log) == slow_scalars(log)


@pytest.mark.parametrize("most", [0, 100], ids=["all", "all but the first"])
def test_what_is_too_much_for_memory_is_kept_in_a_file(
    most: int, log: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Columns, "MOST_IN_MEMORY", most)
    monkeypatch.setattr(event_files, "_CHUNK_BYTES", 200)
    file = read_file(tmp_path / "read", log)

    assert columns_of(file) == slow_scalars(log)
    assert columns_of(file) == slow_scalars(log)  # also when it is asked for once more
    assert sum(map(len, file.columns._spilled.values())) > 3


def test_read_while_it_grows(log: bytes, tmp_path: Path) -> None:
    file = read_file(tmp_path / "growing", b"")
    path = Path(file.path)
    for end in (10, 300, 301, 500, len(log)):
        path.write_bytes(log[:end])
        file.poll()
    assert columns_of(file) == slow_scalars(log)
    assert not file.poll()


def test_what_was_read_is_not_read_again(log: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = tfrecord.read_padded
    monkeypatch.setattr(
        tfrecord,
        "read_padded",
        lambda file, offset, size: asked.append(offset) or original(file, offset, size),
    )
    ends = frame_ends(log)
    file = read_file(tmp_path / "growing", log[: ends[5]])
    assert not file.poll()

    Path(file.path).write_bytes(log)
    assert file.poll()

    assert asked == [0, ends[5]]
    assert columns_of(file) == slow_scalars(log)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.builds(Scalars, STEPS, TIMES, st.dictionaries(TAGS, NUMBERS, max_size=3)), max_size=20))
def test_whatever_our_writer_writes(tmp_path_factory: pytest.TempPathFactory, records: list[Scalars]) -> None:
    data = frame(scalar_events(records * 13))

    found = read_bytes(tmp_path_factory.mktemp("log"), data)

    assert found == slow_scalars(data)
    expected = sum(len(record.values) for record in records) * 13
    assert sum(map(len, found.values())) == expected


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.tuples(TAGS, STEPS, NUMBERS, st.booleans(), st.booleans()), max_size=30))
def test_whatever_torch_writes(tmp_path_factory: pytest.TempPathFactory, points: list[tuple]) -> None:
    folder = tmp_path_factory.mktemp("log")
    with SummaryWriter(str(folder)) as writer:
        for tag, step, number, newer, double in points * 13:
            writer.add_scalar(tag or "empty", number, step, new_style=newer, double_precision=newer and double)
    data = event_file(folder).read_bytes()

    found = read_bytes(folder / "again", data)

    assert found == slow_scalars(data)
    assert sum(map(len, found.values())) == 13 * len(points)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(st.tuples(TAGS, st.integers(0, 2**40), NUMBERS), max_size=20))
def test_whatever_tensorboardx_writes(
    tmp_path_factory: pytest.TempPathFactory, points: list[tuple[str, int, float]]
) -> None:
    folder = tmp_path_factory.mktemp("log")
    with tensorboardX.SummaryWriter(str(folder)) as writer:
        for tag, step, number in points * 13:
            writer.add_scalar(tag or "empty", number, step)
    data = event_file(folder).read_bytes()

    found = read_bytes(folder / "again", data)

    assert found == slow_scalars(data)
    assert sum(map(len, found.values())) == 13 * len(points)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(st.builds(Scalars, STEPS, TIMES, st.dictionaries(TAGS, NUMBERS, min_size=1, max_size=3)), max_size=9))
def test_a_run_gives_back_what_its_writer_was_given(
    tmp_path_factory: pytest.TempPathFactory, records: list[Scalars]
) -> None:
    folder = tmp_path_factory.mktemp("log")
    write(folder, records * 13)
    run = Run(folder)

    for tag in {tag for record in records for tag in record.values}:
        curve = run.scalars(tag)
        given_points = [record for record in records * 13 if tag in record.values]
        assert curve.steps.tolist() == [record.step for record in given_points]
        assert curve.times.tolist() == [record.time for record in given_points]
        assert np.array_equal(curve.values, [record.values[tag] for record in given_points], equal_nan=True)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.integers(0, 300), st.integers(0, 9))
def test_frames_are_found_whatever_their_rhythm(cycle: list[int], rounds: int, extra: int) -> None:
    sizes = [*cycle * rounds, *range(extra), *cycle * 20]
    data = frame([bytes(size) for size in sizes])

    found = tfrecord.split(np.frombuffer(data, np.uint8))

    assert found.lengths.tolist() == sizes
    assert found.starts.tolist() == [0, *itertools.accumulate(size + 16 for size in sizes)][:-1]
    assert not found.damaged


def test_many_tags_of_one_length(tmp_path: Path) -> None:
    points = [
        Scalars(step, step, {f"layer{number:04}/norm": number / 7}) for step in range(15) for number in range(300)
    ]
    data = frame(scalar_events(points))

    found = read_bytes(tmp_path / "log", data)

    assert found == slow_scalars(data)
    assert len(found) == 300


def test_numbers_keep_all_their_bits(tmp_path: Path) -> None:
    step, time = 2**62 + 1, 1.7e9 + 1e-7
    data = frame(scalar_events([Scalars(step, time, {"loss": 0.1})] * 20))

    (points,) = read_bytes(tmp_path / "log", data).values()

    single = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    assert points == [(step, struct.pack("<d", single), struct.pack("<d", time))] * 20
