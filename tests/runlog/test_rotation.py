"""Several files in a folder: parts of one log, ranks, runs that go on, processes side by side."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from tests.runlog.logs import LAYERS, WEIGHTS, faces, read, rows, scalars, write
from tests.runlog.peers import tensorboard_run
from torch_debugger.log.reader_records import LogFollower, event_files
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Notice, Record, Scalars, TensorRows


def long_run() -> list[Record]:
    table = {0: LAYERS, 1: WEIGHTS}
    return [
        record
        for step in range(40)
        for record in (scalars(step, "loss"), rows(step, table[step % 2]), Notice("so far", step))
    ]


def rotated(folder: Path) -> list[str]:
    log = LogWriter(folder, on_fault=print, rotate_bytes=3000)
    for record in long_run():
        log.add(record)
        log.flush()
    log.close()
    return event_files(folder)


def test_a_full_file_is_followed_by_the_next_and_nothing_is_lost(tmp_path: Path) -> None:
    paths = rotated(tmp_path)

    assert len(paths) > 3
    assert all(Path(path).stat().st_size < 4500 for path in paths)
    assert faces(read(tmp_path)) == faces(long_run())
    assert len(tensorboard_run(tmp_path).Scalars("loss")) == 40


def test_each_file_reads_alone(tmp_path: Path) -> None:
    found: list[Record] = []
    for number, path in enumerate(rotated(tmp_path / "whole")):
        alone = tmp_path / str(number)
        alone.mkdir()
        shutil.copy(path, alone)
        found += read(alone)
        assert tensorboard_run(alone).Tags()["tensors"]

    assert faces(found) == faces(long_run())


def test_a_follower_goes_from_file_to_file(tmp_path: Path) -> None:
    follower, got = LogFollower(tmp_path), []
    log = LogWriter(tmp_path, on_fault=print, rotate_bytes=2000)
    for record in long_run():
        log.add(record)
        log.flush()
        got += follower.poll()
    log.close()
    got += follower.poll()
    follower.close()

    assert faces(got) == faces(long_run())


def test_a_next_file_that_cannot_be_made_leaves_the_last_one(tmp_path: Path) -> None:
    faults: list[str] = []
    folder = tmp_path / "log"
    log = LogWriter(folder, on_fault=faults.append, rotate_bytes=500)
    follower = LogFollower(folder)
    follower.poll()
    shutil.rmtree(folder)
    for record in long_run():
        log.add(record)
        log.flush()
    log.close()

    assert faces(follower.poll()) == faces(long_run())
    follower.close()
    assert not folder.exists()
    assert len(faults) == 1


def test_opening_the_folder_again_goes_on_in_a_new_file(tmp_path: Path) -> None:
    first, second = (
        [scalars(step, "loss") for step in range(5)],
        [scalars(step, "loss") for step in range(5, 9)],
    )
    write(tmp_path, first)
    write(tmp_path, second)

    assert len(event_files(tmp_path)) == 2
    assert faces(read(tmp_path)) == faces([*first, *second])


def test_the_name_has_the_rank_and_the_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    write(tmp_path, [scalars(1, "loss")], suffix="/mine")

    (path,) = event_files(tmp_path)
    assert ".torch_debugger.rank3." in path
    assert path.endswith(".00000_mine")


def test_a_program_of_one_process_has_no_rank_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    write(tmp_path, [scalars(1, "loss")])

    assert ".rank" not in event_files(tmp_path)[0]


WRITES_SOME = """
import sys
from torch_debugger.records import Scalars
from torch_debugger.log.writer import LogWriter

sys.stdin.readline()
log = LogWriter(sys.argv[1], on_fault=print, rotate_bytes=20_000)
for step in range(5000):
    log.add_scalar(sys.argv[2], float(step), step, 5.0)
    if step % 500 == 0:
        log.flush()
log.close()
"""


def test_processes_in_one_folder_never_touch_each_others_files(tmp_path: Path) -> None:
    names = ["one", "two", "three"]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITES_SOME, str(tmp_path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in names
    ]
    assert [child.communicate(b"go\n", timeout=300)[0] for child in children] == [b"", b"", b""]

    records = [record for record in read(tmp_path) if isinstance(record, Scalars)]
    run = tensorboard_run(tmp_path)
    for name in names:
        assert [record.step for record in records if name in record.values] == list(range(5000))
        assert len(run.Scalars(name)) == 5000


def steps_and_values(folder: Path) -> list[tuple[int, float]]:
    return [(record.step, record.values["loss"]) for record in read(folder) if isinstance(record, Scalars)]


def run_until(folder: Path, steps: range, sign: int, **options: object) -> None:
    records: list[Record] = [Scalars(step, 5.0, {"loss": float(sign * step)}) for step in steps]
    write(folder, [*records, *(rows(step) for step in steps)], **options)


def test_a_restart_takes_back_what_was_written_from_its_step_on(tmp_path: Path) -> None:
    run_until(tmp_path, range(100), 1)
    run_until(tmp_path, range(50, 70), -1, purge_step=50)
    expected = [(step, float(step)) for step in range(50)] + [(step, float(-step)) for step in range(50, 70)]

    assert steps_and_values(tmp_path) == expected
    assert [record.step for record in read(tmp_path) if isinstance(record, TensorRows)] == list(range(70))
    assert [(point.step, point.value) for point in tensorboard_run(tmp_path).Scalars("loss")] == expected


def test_a_second_restart_may_go_further_back(tmp_path: Path) -> None:
    run_until(tmp_path, range(10), 1)
    run_until(tmp_path, range(8, 12), -1, purge_step=8)
    run_until(tmp_path, range(3, 5), 1, purge_step=3)

    assert steps_and_values(tmp_path) == [(step, float(step)) for step in range(5)]


def test_a_restarted_rank_takes_back_its_own_points_only(tmp_path: Path) -> None:
    run_until(tmp_path, range(10), 1, rank=0)
    run_until(tmp_path, range(10), 1, rank=1)
    run_until(tmp_path, range(5, 6), -1, rank=1, purge_step=5)

    assert steps_and_values(tmp_path) == [
        *((step, float(step)) for step in range(10)),
        *((step, float(step)) for step in range(5)),
        (5, -5.0),
    ]


def test_a_restart_of_torchs_writer_is_understood(tmp_path: Path) -> None:
    for purge_step, steps, sign in ((None, range(10), 1), (6, range(6, 8), -1)):
        suffix = f".{purge_step}"
        writer = TorchWriter(str(tmp_path), purge_step=purge_step, filename_suffix=suffix)
        for step in steps:
            writer.add_scalar("loss", sign * step, step)
        writer.close()
    paths = event_files(tmp_path)
    for path in paths:  # torch's names of one second are in no order
        Path(path).rename(tmp_path / f"events.out.tfevents.{1 + path.endswith('.6')}")

    expected = [*((step, float(step)) for step in range(6)), (6, -6.0), (7, -7.0)]
    assert steps_and_values(tmp_path) == expected
