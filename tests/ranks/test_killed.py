"""Any process of several ranks killed at any moment: the logs and a report are there, and nothing runs on."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.ranks.running import LIMIT_S, Done, done, processes_in, running, torchrun, watched
from torch_debugger.archive.run import Run


def kill_one(folder: Path, rank: int, role: str, after_steps: bool) -> Done:
    """`role`: the training itself, or the parent that torchrun has started for it."""
    with running(folder, [*torchrun(2), *watched("ddp.py", "endless")]) as process:
        victim = _process(folder, rank, role)
        if after_steps:
            _wait_for_steps(folder)
        time.sleep(random.random())
        victim.send_signal(signal.SIGKILL)
        process.wait(LIMIT_S)
    return done(folder, process)


def _process(folder: Path, rank: int, role: str) -> psutil.Process:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        for process in processes_in(folder):
            try:
                words, around = process.cmdline(), process.environ()
            except psutil.Error:
                continue
            is_child = any(word.endswith("cli/child.py") for word in words)
            is_parent = "torch_debugger" in words and "torch.distributed.run" not in words
            if around.get("RANK") == str(rank) and (is_child if role == "training" else is_parent):
                return process
        time.sleep(0.1)
    raise AssertionError(f"no {role} of rank {rank} was started")


def _wait_for_steps(folder: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        for log in folder.glob("runs/*"):
            parts = Run(log).ranks
            if len(parts) == 2 and all(part.steps > 5 for part in parts.values()):
                return
        time.sleep(0.5)
    raise AssertionError("the ranks never trained")


@pytest.mark.parametrize(
    ("rank", "role", "after_steps"),
    [(1, "training", True), (0, "training", True), (1, "training", False), (1, "parent", True)],
)
def test_the_first_rank_reports(tmp_path: Path, rank: int, role: str, after_steps: bool) -> None:
    ended = kill_one(tmp_path, rank, role, after_steps)
    assert ended.code == 1
    assert len(ended.result["ranks"]) == 2
    if role == "training":
        assert (ended.verdict["name"], ended.verdict["evidence"]["rank"]) == ("rank-killed", rank)
    _logs_are_whole(ended)


def test_another_rank_stands_in_for_the_first(tmp_path: Path) -> None:
    ended = kill_one(tmp_path, 0, "parent", True)
    assert ended.code == 1
    assert ended.err.count("This report is made by rank 1") == 1
    assert [each["rank"] for each in ended.result["ranks"]] == [0, 1]
    _logs_are_whole(ended)


def _logs_are_whole(ended: Done) -> None:
    run = Run(ended.log_folder)
    assert run.damage == []
    assert {"result.json", "report.md"} < set(ended.logs)
    assert not [process for process in psutil.process_iter() if _is_our_zombie(process)]


def _is_our_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.ppid() == os.getpid() and process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
