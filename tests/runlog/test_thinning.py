from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.runlog.logs import event_file, faces, read, scalars
from torch_debugger.records import EndFact, Notice, Record, Scalars, Table, TensorRows
from torch_debugger.runlog.thinning import Thinning
from torch_debugger.runlog.writer import LogWriter

TABLE = Table("activation", "net", tuple(f"net.{i}" for i in range(16)), tuple("abcdefgh"))
ROW_BYTES = 16 * 8 * 4
LIMIT = 200 * ROW_BYTES


def long_run(folder: Path, steps: int) -> list[Record]:
    log = LogWriter(folder, limit_bytes=LIMIT, on_fault=print)
    for step in range(steps):
        log.add(TensorRows(step, TABLE, np.full((16, 8), step, np.float32)))
        if step % 50 == 0:
            log.add(scalars(step, "loss"))
    log.add(EndFact("finished", steps, "optimizer steps"))
    log.close()
    return read(folder)


def test_rows_thin_out_and_everything_else_stays(tmp_path: Path) -> None:
    records = long_run(tmp_path, 1200)

    steps = [record.step for record in records if isinstance(record, TensorRows)]
    gaps = np.diff(steps)
    assert set(gaps) >= {1, 2, 4, 8}
    assert list(gaps) == sorted(gaps)
    assert all(step % gap == 0 for step, gap in zip(steps[1:], gaps, strict=True))
    assert faces(r for r in records if isinstance(r, Scalars)) == faces(
        scalars(step, "loss") for step in range(0, 1200, 50)
    )
    assert isinstance(records[-1], EndFact)
    assert event_file(tmp_path).stat().st_size < LIMIT * 1.1


def test_each_doubling_is_told_where_it_happens(tmp_path: Path) -> None:
    records = long_run(tmp_path, 400)

    notices = [(index, r) for index, r in enumerate(records) if isinstance(r, Notice)]
    assert [notice.text for _, notice in notices[:2]] == [
        f"The log has used {used} MB of its limit of 0.102 MB: from here on one of {stride} rows of layer "
        "statistics is kept; scalars and all other records are kept whole. Raise --log-limit to keep more."
        for used, stride in (("0.0513", 2), ("0.0769", 4))
    ]
    rows_before = [r for r in records[: notices[0][0]] if isinstance(r, TensorRows)]
    assert [row.step for row in rows_before] == list(range(len(rows_before)))


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


def test_the_stride_doubles_as_the_room_halves() -> None:
    thinning = Thinning(1000)
    strides = []
    for used in (0, 499, 500, 749, 750, 875, 990, 5000):
        thinning.update(used)
        strides.append(thinning.stride)

    assert strides == [1, 1, 2, 2, 4, 8, 64, 2**20]
