"""`torch_debugger.Watchdog` in programs that really hang."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import torch_debugger
from tests.checks.ranks.hanging import waiting
from torch_debugger.errors import UsageError

TRAINING = """
import threading, time, torch, torch_debugger
from datetime import timedelta
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
"""


Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run_lines(lines: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "train.py"
        script.write_text(TRAINING + lines)
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(script)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)

    return run_lines


def test_abort_says_where_and_ends_with_124(run: Run) -> None:
    done = run(
        "lock = threading.Lock()\nlock.acquire()\n"
        "with torch_debugger.Watchdog(timeout=1.5, policy='abort'):\n    train(5)\n    lock.acquire()\n"
    )
    assert done.returncode == 124
    assert "lock-never-released" in done.stderr and "training (process" in done.stderr


def test_warn_goes_on_and_keeps_what_it_told(run: Run) -> None:
    done = run(
        "watchdog = torch_debugger.Watchdog(timedelta(seconds=1), policy='warn').start()\n"
        "train(5)\nthreading.Event().wait(4)\ntrain(5)\nwatchdog.stop()\n"
        "print([hang.kind for hang in watchdog.hangs][:1], watchdog.watching)\n"
    )
    assert done.stdout == "['event'] False\n", done.stderr
    assert "has stood still for" in done.stderr and "training (process" not in done.stderr


def test_a_healthy_loop_gets_silence(run: Run) -> None:
    lines = "with torch_debugger.Watchdog(timeout=1.5):\n    train(5)\n    time.sleep(4)\n    train(5)\n"
    done = run(lines)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_it_is_given_is_checked() -> None:
    with pytest.raises(UsageError, match="policy is one of warn, dump, abort, not 'kill'"):
        torch_debugger.Watchdog(policy="kill")
    with pytest.raises(UsageError, match="timeout is a time in seconds"):
        torch_debugger.Watchdog(timeout=timedelta(0))
    assert "not started" in repr(torch_debugger.Watchdog())


def test_a_wait_for_other_ranks_is_told_after_the_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    """Under plain torchrun the others are not heard: without a timeout one of them may validate for long."""
    fact = waiting(0, "barrier", 14, still_s=50.0)
    patient, strict = torch_debugger.Watchdog(policy="warn"), torch_debugger.Watchdog(45, policy="warn")
    for watchdog in (patient, strict):
        watchdog._pid = os.getpid()
        watchdog._tell(fact)
    assert (len(patient.hangs), len(strict.hangs)) == (0, 1)
    words = " ".join(capsys.readouterr().err.split())
    assert "The training has stood still for 50 s" in words
    assert "it waits in `barrier` at train.py:14" in words
