"""For whom the first rank waits with its report, and for how long."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ranks.test_shared_folder import FIRST
from torch_debugger.log.event_files import host_in_names
from torch_debugger.runner import rank_parents as fellow_ranks
from torch_debugger.runner.rank_parents import FellowRanks

PAIR = FIRST.__class__(**{**vars(FIRST), "world_size": 2, "local_world_size": 2})


def write(folder: Path, rank: int, pid: int, host: str = "") -> Path:
    path = folder / f"events.out.tfevents.1.2.{host or host_in_names()}.{pid}.torch_debugger.rank{rank}.00000"
    path.touch()
    return path


def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_one_that_runs_is_waited_for(tmp_path: Path) -> None:
    write(tmp_path, 1, os.getpid())
    assert FellowRanks(PAIR, str(tmp_path)).wait(0.0) is None


def test_one_that_said_its_end_is_not(tmp_path: Path) -> None:
    write(tmp_path, 1, os.getpid())
    assert FellowRanks(PAIR, str(tmp_path), ended=lambda: {1}).wait(0.0) == 0


def test_one_whose_processes_are_gone_is_not(tmp_path: Path) -> None:
    write(tmp_path, 1, gone())
    assert FellowRanks(PAIR, str(tmp_path)).wait(0.0) == 0


def test_one_that_was_never_heard_of_is_given_some_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fellows = FellowRanks(PAIR, str(tmp_path))
    assert fellows.wait(0.0) is None
    monkeypatch.setattr(fellow_ranks, "_LATE_S", 0.0)
    assert fellows.wait(0.0) == 0


def test_after_a_failure_there_is_no_time_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 1, os.getpid())
    fellows = FellowRanks(PAIR, str(tmp_path), in_hurry=lambda: True)
    assert fellows.wait(0.0) is None
    monkeypatch.setattr(fellow_ranks, "_HURRIED_S", 0.0)
    assert fellows.wait(0.0) == 0


def test_one_on_another_machine_is_over_when_it_is_silent(tmp_path: Path) -> None:
    assert socket.gethostname() != "far"
    path = write(tmp_path, 1, os.getpid(), host="far")
    assert FellowRanks(PAIR, str(tmp_path)).wait(0.0) is None
    long_ago = time.time() - 3600
    os.utime(path, (long_ago, long_ago))
    assert FellowRanks(PAIR, str(tmp_path)).wait(0.0) == 0
