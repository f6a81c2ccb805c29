"""A log keeps fewer and fewer as it fills, or as the disk does, and says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.runlog.logs import read, scalars
from torch_debugger.log import writer as appending
from torch_debugger.log.encoder import CURVES, Thinning
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import EndFact, Notice, Record, Scalars, Table, TensorRows, TextSummary

TABLE = Table("activation", "net", tuple(f"net.{i}" for i in range(16)), tuple("abcdefgh"))
ROW_BYTES = 16 * 8 * 4
LIMIT = 200 * ROW_BYTES


def long_run(folder: Path, steps: int, said: Callable[[str], None] = print) -> list[Record]:
    log = LogWriter(folder, limit_bytes=LIMIT, on_fault=said)
    for step in range(steps):
        log.add(TensorRows(step, TABLE, np.full((16, 8), step, np.float32)))
        if step % 50 == 0:
            log.add(scalars(step, "loss"))
    log.add(EndFact("finished", steps, "optimizer steps"))
    log.close()
    return read(folder)


def written_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_rows_thin_out_and_the_end_is_told(tmp_path: Path) -> None:
    records = long_run(tmp_path, 1200)

    steps = [record.step for record in records if isinstance(record, TensorRows)]
    gaps = np.diff(steps)
    assert set(gaps) >= {1, 2, 4, 8}
    assert list(gaps) == sorted(gaps)
    assert all(step % gap == 0 for step, gap in zip(steps[1:], gaps, strict=True))
    assert isinstance(records[-1], EndFact)
    assert written_bytes(tmp_path) <= LIMIT


def test_that_it_thins_is_told_once_in_the_log_and_to_the_user(tmp_path: Path) -> None:
    said: list[str] = []
    records = long_run(tmp_path, 1200, said.append)

    (notice,) = [record for record in records if isinstance(record, Notice)]
    assert said == [notice.text]
    assert notice.text.startswith("To stay below its limit of 0.102 MB the log keeps, from here on, fewer points")
    before = records[: records.index(notice)]
    steps = [record.step for record in before if isinstance(record, TensorRows)]
    assert steps == list(range(len(steps)))


def points(log: LogWriter, steps: int) -> None:
    for step in range(steps):
        log.add_scalar("loss", float(step), step, time.time())
        log.add_scalar("lr", 0.1, step, time.time())


def scalar_records(log: LogWriter, steps: int) -> None:
    for step in range(steps):
        log.add(Scalars(step, time.time(), {"loss": float(step), "lr": 0.1}))


def pictures(log: LogWriter, steps: int) -> None:
    for step in range(0, steps, 10):
        log.add(TextSummary(step, time.time(), "note", "a line of words " * 20))


def facts(log: LogWriter, steps: int) -> None:
    for step in range(steps):
        log.add(Notice(f"step {step} was the {step}th", step))


def large_facts(log: LogWriter, steps: int) -> None:
    for step in range(0, steps, 1000):
        log.add(Notice("a long story. " * 1000, step))


def new_curves(log: LogWriter, steps: int) -> None:
    """The first of each is kept, as long as there is room."""
    for step in range(steps):
        log.add_scalar(f"loss of sample {step}", float(step), step, time.time())


@pytest.mark.parametrize("fill", [points, scalar_records, pictures, facts, large_facts, new_curves])
def test_whatever_fills_it_a_log_stays_below_its_limit(fill: Callable[[LogWriter, int], None], tmp_path: Path) -> None:
    log = LogWriter(tmp_path, limit_bytes=200_000, on_fault=print)
    fill(log, 60_000)
    log.add(EndFact("finished", 60_000, "optimizer steps"))
    log.close()
    assert 40_000 < written_bytes(tmp_path) <= 200_000
    assert any(isinstance(record, EndFact) for record in read(tmp_path))


@pytest.mark.parametrize("fill", [points, scalar_records])
def test_a_curve_keeps_its_range_and_its_shape(fill: Callable[[LogWriter, int], None], tmp_path: Path) -> None:
    log = LogWriter(tmp_path, limit_bytes=200_000, on_fault=print)
    fill(log, 60_000)
    log.add(EndFact("finished", 60_000, "optimizer steps"))
    log.close()
    kept = [r.step for r in read(tmp_path) if isinstance(r, Scalars) and "loss" in r.values]
    assert kept == sorted(set(kept))
    assert kept[0] == 0 and kept[-1] == 59_999
    for late in (2_000, 10_000, 30_000):
        assert len([step for step in kept if late <= step < 2 * late]) > 20


def test_where_each_curve_ends_is_written_once_and_in_order(tmp_path: Path) -> None:
    """Steps that are looked at closely have other numbers besides."""
    log = LogWriter(tmp_path, limit_bytes=20_000, on_fault=print)
    for step in range(5_000):
        closely = {"grad": 1.0} if step % 7 == 0 else {}
        log.add(Scalars(step, time.time(), {"loss": float(step)} | closely))
    log.close()
    records = [record for record in read(tmp_path) if isinstance(record, Scalars)]
    for tag, last in (("loss", 4_999), ("grad", 4_998)):
        steps = [record.step for record in records if tag in record.values]
        assert steps == sorted(set(steps)) and steps[-1] == last, tag


def test_facts_do_not_take_the_room_of_curves_nor_curves_that_of_facts(tmp_path: Path) -> None:
    for first, then in ((large_facts, scalar_records), (scalar_records, large_facts)):
        folder = tmp_path / first.__name__
        log = LogWriter(folder, limit_bytes=200_000, on_fault=print)
        first(log, 60_000)
        then(log, 60_000)
        log.close()
        records = read(folder)
        assert len([r for r in records if isinstance(r, Scalars)]) > 500
        assert len([r for r in records if isinstance(r, Notice) and "story" in r.text]) >= 3


def test_how_a_run_ends_is_written_into_a_full_log(tmp_path: Path) -> None:
    said: list[str] = []
    log = LogWriter(tmp_path, limit_bytes=5_000, on_fault=said.append)
    large_facts(log, 10_000)
    log.add(EndFact("finished", 10_000, "optimizer steps"))
    log.close()
    assert any(isinstance(record, EndFact) for record in read(tmp_path))
    assert "The log is full: what comes now is left out. Raise --log-limit to keep more." in said


def test_rows_that_come_when_there_is_room_again_have_their_heading(tmp_path: Path) -> None:
    """The first of them, which would have had it, did not fit."""
    wide = Table("activation", "net", ("net.0",), tuple(map(str, range(2_000))))
    log = LogWriter(tmp_path, limit_bytes=12_000, on_fault=print)
    log.add(TensorRows(1, wide, np.ones((1, 2_000), np.float32)))
    log.add(TensorRows(2, TABLE, np.ones((16, 8), np.float32)))
    log.close()
    (row,) = [record for record in read(tmp_path) if isinstance(record, TensorRows)]
    assert row.table == TABLE


def test_without_a_limit_everything_is_kept(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    points(log, 30_000)
    log.close()
    assert len([r for r in read(tmp_path) if isinstance(r, Scalars) and "loss" in r.values]) == 30_000


def test_a_nearly_full_disk_is_left_to_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    free = [10**9]
    monkeypatch.setattr(appending, "free_bytes", lambda _: (free[0], 10**12))
    log = LogWriter(tmp_path, on_fault=said.append)
    points(log, 100)
    log.flush()
    free[0] = 200_000_000
    log.flush()
    before = written_bytes(tmp_path)
    points(log, 10_000)
    scalar_records(log, 10_000)
    log.add(EndFact("finished", 100, "optimizer steps"))
    log.close()
    assert written_bytes(tmp_path) < before + 2_000
    assert any(isinstance(record, EndFact) for record in read(tmp_path))
    assert max(record.step for record in read(tmp_path) if isinstance(record, Scalars)) == 9_999
    assert said == [
        "The log keeps no more curves, statistics and pictures: the disk has only 200 MB left, which are for "
        "the training."
    ]


def test_a_small_disk_may_be_filled_but_for_its_last_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "free_bytes", lambda _: (30_000_000, 64_000_000))
    log = LogWriter(tmp_path, on_fault=pytest.fail)
    points(log, 100)
    log.close()


def test_a_new_table_in_a_full_log_keeps_its_first_row(tmp_path: Path) -> None:
    late = Table("update", "net", ("net.0",), ("norm",))
    log = LogWriter(tmp_path, limit_bytes=2000, on_fault=print)
    for step in range(50):
        log.add(scalars(step, "loss"))
    log.flush()
    for step in range(50, 60):
        log.add(TensorRows(step, late, np.ones((1, 1), np.float32)))
    log.close()

    assert [r.step for r in read(tmp_path) if isinstance(r, TensorRows)] == [50]


def test_each_doubling_of_the_steps_takes_as_much_room() -> None:
    thinning = Thinning(1_000_000)
    kept = []
    for step in range(200_000):
        record = Scalars(step, 0.0, {"loss": 1.0})
        if thinning.keeps(record) and thinning.takes(CURVES, 60):
            kept.append(step)
    whole = next(place for place, step in enumerate(kept) if step != place)
    late = [len([step for step in kept if start <= step < 2 * start]) for start in (20_000, 50_000, 100_000)]
    assert 3_000 < whole < 4_500
    assert max(late) < 1.5 * min(late)
