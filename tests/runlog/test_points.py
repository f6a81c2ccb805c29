"""Single numbers: every one of them comes back, in order, for us and for TensorBoard."""

from __future__ import annotations

import math
import os
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from tests.runlog.logs import event_file, faces, read, scalars
from tests.runlog.peers import tensorboard_run
from torch_debugger.log import writer as waiting
from torch_debugger.log.decoder_records import Decoder
from torch_debugger.log.scalar_events import GivenTime, Point, encode_points
from torch_debugger.log.tfrecord import frame, unframe
from torch_debugger.log.writer import LogWriter, Waiting
from torch_debugger.records import Scalars

any_point = st.tuples(
    st.sampled_from(["loss", "lr/0", "größe", "", "a" * 300]),
    st.floats(width=32),
    st.sampled_from([0, 1, 127, 128, -1, 2**40, 2**63 - 1, -(2**63)]),
    st.floats() | st.sampled_from([1.7e9, 1.7e9 + 0.05, 1.7e9 + 3]),
)


def events(data: bytes) -> list[Scalars]:
    payloads, decoder = unframe(data), Decoder()
    assert frame(payloads) == data
    return [record for payload in payloads for record in decoder.decode(payload)]  # type: ignore[misc]


def points_of(records: list[Scalars]) -> list[tuple[str, bytes, int]]:
    return [(tag, struct.pack("<f", value), record.step) for record in records for tag, value in record.values.items()]


@given(st.lists(any_point, min_size=1, max_size=40))
@settings(max_examples=300, deadline=None)
def test_every_point_comes_back_in_order(points: list[Point]) -> None:
    back = points_of(events(encode_points(points)))

    assert back == [(tag, np.float32(value).tobytes(), step) for tag, value, step, _ in points]


@given(st.lists(any_point, min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_a_point_has_its_own_time_or_that_of_one_a_moment_before(points: list[Point]) -> None:
    index = 0
    for record in events(encode_points(points)):
        for position in range(len(record.values)):
            own = points[index + position][3]
            assert record.time == own or abs(record.time - own) <= 0.1 or math.isnan(own)
        first = points[index][3]
        assert struct.pack("<d", record.time) == struct.pack("<d", first)
        index += len(record.values)


def test_tags_of_one_step_share_an_event() -> None:
    points = [(tag, 0.5, step, 1.7e9) for step in range(100) for tag in ("a", "b", "c")]

    assert [len(event.values) for event in events(encode_points(points))] == [3] * 100


def test_a_tag_that_comes_twice_begins_a_new_event() -> None:
    points = [(tag, float(number), 7, 1.7e9) for number, tag in enumerate("abcabbca")]

    assert [list(event.values.items()) for event in events(encode_points(points))] == [
        [("a", 0.0), ("b", 1.0), ("c", 2.0)],
        [("a", 3.0), ("b", 4.0)],
        [("b", 5.0)],
        [("c", 6.0)],
        [("a", 7.0)],
    ]


def test_many_points_of_changing_tags_come_back(tmp_path: Path) -> None:
    dice = np.random.default_rng(0)
    tags = [f"tag{number}" for number in range(12)]
    points = [
        (tags[dice.integers(12)], float(dice.normal()), int(step // 3), 1.7e9 + step / 50) for step in range(7000)
    ]

    back = points_of(events(encode_points(points)))

    assert back == [(tag, np.float32(value).tobytes(), step) for tag, value, step, _ in points]


def test_tensorboard_reads_every_point(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    values = [0.5, math.nan, math.inf, -math.inf, 1e-42, -0.0, 1e300]
    for step, value in enumerate(values * 1000):
        log.add_scalar("loss", value, step, time.time())
        log.add_scalar("same", value, step, time.time())
        log.add_scalar("loss", -value, step, time.time())
    log.close()

    curve = tensorboard_run(tmp_path).Scalars("loss")

    largest = float(np.finfo(np.float32).max)
    singles = np.float32([min(value, largest) if math.isfinite(value) else value for value in values])
    expected = np.stack([singles, -singles], axis=1).ravel()
    np.testing.assert_array_equal(np.float32([point.value for point in curve]), np.tile(expected, 1000))
    assert [point.step for point in curve] == [step for step in range(7000) for _ in range(2)]


@pytest.mark.parametrize(("tags", "share"), [(10, 0.5), (1, 1.0)])
def test_bytes_beside_those_of_torch(tmp_path: Path, tags: int, share: float) -> None:
    """An event holds one step only, so the bytes around a lone tag are the format's own."""
    theirs, ours = TorchWriter(str(tmp_path / "theirs")), LogWriter(tmp_path / "ours", on_fault=print)
    for step in range(200):
        for number in range(tags):
            theirs.add_scalar(f"train/loss{number}", 0.5, step)
            ours.add_scalar(f"train/loss{number}", 0.5, step, 1.7e9)
    theirs.close()
    ours.close()

    sizes = [event_file(tmp_path / name).stat().st_size for name in ("ours", "theirs")]
    assert sizes[0] <= share * sizes[1]


def test_points_and_records_may_be_mixed(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    for step in range(100):
        log.add_scalar("loss", step, step, 5.0)
        log.add(scalars(step, "lr/0"))
    log.close()

    records = [record for record in read(tmp_path) if isinstance(record, Scalars)]
    assert [record.step for record in records if "loss" in record.values] == list(range(100))
    assert faces(record for record in records if "lr/0" in record.values) == faces(
        scalars(step, "lr/0") for step in range(100)
    )


def test_what_is_no_number_is_told_and_costs_nothing_else(tmp_path: Path) -> None:
    faults: list[str] = []
    log = LogWriter(tmp_path, on_fault=faults.append)
    log.add_scalar("loss", 1.0, 1, 5.0)
    log.add_scalar("loss", None, 2, 5.0)  # type: ignore[arg-type]
    log.add_scalar("loss", 3.0, 2**70, 5.0)
    log.add_scalar(4, 4.0, 4, 5.0)  # type: ignore[arg-type]
    log.add_scalar("loss", np.float32(5.0), np.int32(5), 5.0)  # type: ignore[arg-type]
    log.close()

    assert [(record.step, record.values) for record in read(tmp_path)] == [  # type: ignore[union-attr]
        (1, {"loss": 1.0}),
        (5, {"loss": 5.0}),
    ]
    assert [fault.split(":")[0] for fault in faults] == [
        "A scalar of the tag 'loss' was left out of the log",
        "A scalar of the tag 'loss' was left out of the log",
        "A scalar of the tag 4 was left out of the log",
    ]


def test_a_flush_waits_for_points_added_before_it(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print, flush_s=60)
    for step in range(300):
        log.add_scalar("loss", 0.5, step, 5.0)
        if step % 100 == 99:
            log.flush()
            assert len(read(tmp_path)) == step + 1
    log.close()


def test_use_after_close_does_nothing(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    log.close()
    log.add_scalar("loss", 0.5, 1, 5.0)

    assert read(tmp_path) == []
    assert not log._waiting


def test_times_that_a_script_gave_are_kept_to_the_last_bit() -> None:
    times = [GivenTime(5.01), GivenTime(5.01), GivenTime(5.02), 5.03, 5.04, GivenTime(5.04), 5.05]
    points = [(tag, 0.5, 7, when) for tag, when in zip("abcdefg", times, strict=True)]

    assert [(event.time, "".join(event.values)) for event in events(encode_points(points))] == [
        (5.01, "ab"), (5.02, "c"), (5.03, "de"), (5.04, "f"), (5.05, "g"),
    ]  # fmt: skip


def test_tags_that_differ_in_what_is_no_text_stay_apart(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    for byte in (b"caf\xe9", b"caf\xe8"):
        log.add_scalar(os.fsdecode(byte), 1.0, 1, 5.0)
    log.close()

    (record,) = read(tmp_path)
    assert list(record.values) == ["caf\\udce9", "caf\\udce8"]  # type: ignore[union-attr]


def test_numpy_that_raises_for_small_numbers_costs_no_point(tmp_path: Path) -> None:
    points = [("loss", value, step, 5.0) for step, value in enumerate([1e-50, 1e300, math.inf, math.nan])]
    with np.errstate(all="raise"):
        assert len(events(encode_points(points))) == 4


def test_long_tags_are_encoded_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_TAG_CHARACTERS", 1000)
    sizes: list[int] = []
    queue = Waiting(lambda points: b"")
    queue.points.extend(("x" * 300, float(step), step, 5.0) for step in range(50))
    while queue.points:
        sizes.append(len(queue.take_points(40)[1]))

    assert sum(sizes) == 50
    assert max(sizes) == 3


def test_every_point_with_a_long_tag_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_TAG_CHARACTERS", 1000)
    log = LogWriter(tmp_path, on_fault=print)
    for step in range(5000):
        log.add_scalar("x" * 300, float(step), step, 5.0)
    log.close()

    assert [record.step for record in read(tmp_path)] == list(range(5000))  # type: ignore[union-attr]
