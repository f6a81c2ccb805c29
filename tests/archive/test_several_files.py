"""Folders into which several writers wrote: at the same time, or one after the other."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests.runlog.logs import scalars
from torch_debugger.log import reader_columns as event_file
from torch_debugger.log.protobuf import restart_event
from torch_debugger.log.run import Run
from torch_debugger.log.scalar_events import scalar_events
from torch_debugger.log.tfrecord import frame
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Notice, Scalars

NAME = "events.out.tfevents.{}"


def write_points(folder: Path, number: int, points: list[tuple[int, float, float]]) -> None:
    """(step, value, time) of the tag loss, into the file of this number."""
    records = [Scalars(step, time, {"loss": value}) for step, value, time in points]
    (folder / NAME.format(number)).write_bytes(frame(scalar_events(records)))


def test_files_written_at_the_same_time_are_one_curve_by_step(tmp_path: Path) -> None:
    write_points(tmp_path, 1, [(0, 3.0, 100.0), (2, 1.0, 102.0)])
    write_points(tmp_path, 2, [(1, 2.0, 101.0), (2, 1.5, 103.0)])

    curve = Run(tmp_path).scalars("loss")

    assert curve.steps.tolist() == [0, 1, 2, 2]
    assert curve.values.tolist() == [3.0, 2.0, 1.0, 1.5]
    assert curve.times.tolist() == [100.0, 101.0, 102.0, 103.0]


def test_files_written_one_after_the_other_keep_their_order(tmp_path: Path) -> None:
    write_points(tmp_path, 1, [(0, 3.0, 100.0), (9, 1.0, 102.0)])
    write_points(tmp_path, 2, [(0, 4.0, 102.0), (2, 1.5, 103.0)])
    write_points(tmp_path, 3, [(1, 5.0, 102.5)])

    assert Run(tmp_path).scalars("loss").values.tolist() == [3.0, 1.0, 4.0, 5.0, 1.5]


def test_two_writers_on_one_folder(tmp_path: Path) -> None:
    from torch_debugger import SummaryWriter

    first, second = SummaryWriter(str(tmp_path)), SummaryWriter(str(tmp_path))
    for step, writer in enumerate([first, second, first, second]):
        writer.add_scalar("loss", 10.0 - step, step, walltime=1000.0 + step)
    first.close()
    second.close()

    assert Run(tmp_path).scalars("loss").values.tolist() == [10.0, 9.0, 8.0, 7.0]


def test_what_a_restart_took_back_is_nowhere(tmp_path: Path) -> None:
    for purge_step, steps in ((None, range(100)), (50, range(50, 61))):
        log = LogWriter(tmp_path, on_fault=print, purge_step=purge_step)
        for step in steps:
            log.add(scalars(step, "loss"))
            log.add(Notice(f"step {step}", step))
        log.close()
    run = Run(tmp_path)

    assert run.steps == 60
    assert [record.step for record in run.records(Scalars)] == list(range(61))
    assert [record.step for record in run.records(Notice)] == list(range(61))
    assert {record.step for record in run.records()} == set(range(61))


def test_a_rank_that_restarts_takes_back_its_own_points_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank, purge_step in (("0", None), ("1", None), ("1", 5)):
        monkeypatch.setenv("RANK", rank)
        log = LogWriter(tmp_path, on_fault=print, purge_step=purge_step)
        for step in range(10) if purge_step is None else range(purge_step, 7):
            log.add(scalars(step, "loss"))
        log.close()
    run = Run(tmp_path)

    assert {rank: part.steps for rank, part in run.ranks.items()} == {0: 9, 1: 6}
    assert run.steps == 9
    assert sorted(record.step for record in run.records(Scalars)) == sorted([*range(10), *range(7)])


def test_records_behind_a_large_event_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_file, "_CHUNK_BYTES", 64)
    log = LogWriter(tmp_path, on_fault=print)
    for step, length in enumerate([1, 10_000, 1]):
        log.add(Notice("x" * length, step))
    log.close()

    assert [record.step for record in Run(tmp_path).records()] == [0, 1, 2]


@pytest.mark.parametrize("home", ["torch.utils.tensorboard", "tensorboardX", "torch_debugger"])
def test_a_text_is_found_by_the_name_it_was_given(home: str, tmp_path: Path) -> None:
    writers: Any = importlib.import_module(home)
    with writers.SummaryWriter(os.fspath(tmp_path)) as writer:
        writer.add_text("notes", "hello", 3)
    run = Run(tmp_path)

    assert [(text.step, text.text) for text in run.texts("notes")] == [(3, "hello")]
    assert run.texts("notes/text_summary") == run.texts("notes")


def test_a_restart_as_one_process_takes_back_what_rank_0_wrote(tmp_path: Path) -> None:
    for name, start, steps in (("1.rank0.x", None, range(5)), ("2.rank1.x", None, range(5)), ("3.x", 3, [3])):
        events = scalar_events([scalars(step, "loss") for step in steps])
        marks = [] if start is None else [restart_event(1.0, start)]
        (tmp_path / NAME.format(name)).write_bytes(frame([*marks, *events]))
    run = Run(tmp_path)

    assert {rank: part.scalars("loss").steps.tolist() for rank, part in run.ranks.items()} == {
        0: [0, 1, 2, 3],
        1: [0, 1, 2, 3, 4],
    }
