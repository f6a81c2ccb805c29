"""Any process of several ranks killed at any moment: the logs and a report are there, and nothing runs on.

A rank that dies by itself at a step that is known: test_torchrun.py.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.ranks.running import LIMIT_S, Done, done, logs_are_whole, running, torchrun, watched
from torch_debugger.log.run import Run


def kill_one(folder: Path, rank: int, role: str, after_steps: bool) -> Done:
    """`role`: the training itself, or the parent that torchrun has started for it."""
    with running(folder, [*torchrun(2), *watched("ddp.py", "endless")]) as process:
        parent = _wait_for_rank(process.pid, rank)
        if after_steps:
            _wait_for_steps(folder)
        time.sleep(random.random() / 2)
        victims = _trainings(parent) if role == "training" else [parent]
        assert len(victims) == 1
        victims[0].kill()
        process.wait(LIMIT_S)
    return done(folder, process)


def _wait_for_rank(torchrun_pid: int, rank: int) -> psutil.Process:
    """What torchrun has started for it, as soon as its training is there: they are started in order."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        with suppress(psutil.NoSuchProcess):  # a git that has ended meanwhile
            started = psutil.Process(torchrun_pid).children(recursive=True)
            leaders = {each for each in started if _leads_a_session(each.pid)}  # as torchrun makes every rank
            own = [each for each in leaders if each.ppid() not in {leader.pid for leader in leaders}]  # no git
            parents = sorted(own, key=lambda each: (each.create_time(), each.pid))
            if len(parents) == 2 and _trainings(parents[rank]):
                return parents[rank]
        time.sleep(0.02)
    raise AssertionError(f"rank {rank} was never started")


def _leads_a_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def _trainings(parent: psutil.Process) -> list[psutil.Process]:
    """The first rank also asks git, which may still be at it."""
    found = []
    for child in parent.children():
        with suppress(psutil.NoSuchProcess):
            found += [child] if child.name() != "git" else []
    return found


def _wait_for_steps(folder: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        for log in folder.glob("runs/*"):
            parts = Run(log).ranks
            if len(parts) == 2 and all(part.steps > 5 for part in parts.values()):
                return
        time.sleep(0.2)
    raise AssertionError("the ranks never trained")


@pytest.mark.parametrize(
    ("rank", "role", "after_steps"), [(0, "training", True), (1, "training", False), (1, "parent", True)]
)
def test_the_first_rank_reports(tmp_path: Path, rank: int, role: str, after_steps: bool) -> None:
    ended = kill_one(tmp_path, rank, role, after_steps)
    assert ended.code == 1
    assert len(ended.result["ranks"]) == 2
    if role == "training":
        assert (ended.verdict["name"], ended.verdict["evidence"].get("rank")) == ("rank-killed", rank)
    logs_are_whole(ended)


def test_another_rank_stands_in_for_the_first(tmp_path: Path) -> None:
    ended = kill_one(tmp_path, 0, "parent", True)
    assert ended.code == 1
    assert ended.err.count("This report is made by rank 1") == 1
    assert [each["rank"] for each in ended.result["ranks"]] == [0, 1]
    logs_are_whole(ended)
