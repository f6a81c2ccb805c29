"""`torch_debugger.Watchdog` in programs that really hang."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path
from subprocess import PIPE

import pytest

import torch_debugger
from tests import preloaded
from tests.checks.ranks.hanging import waiting
from torch_debugger.system.errors import UsageError

ROOT = Path(__file__).parents[3]
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


PROGRAMS = {
    "aborted": "lock = threading.Lock()\nlock.acquire()\n"
    "with torch_debugger.Watchdog(timeout=1.5, policy='abort'):\n    train(5)\n    lock.acquire()\n",
    "warned": "event, told = threading.Event(), timedelta(seconds=1)\n"
    "watchdog = torch_debugger.Watchdog(told, policy='warn')\n"
    "def wait_until_told():\n    while not watchdog.hangs:\n        time.sleep(0.1)\n    event.set()\n"
    "threading.Thread(target=wait_until_told, daemon=True).start()\n"
    "watchdog.start()\ntrain(5)\nevent.wait()\ntrain(5)\nwatchdog.stop()\n"
    "print([hang.kind for hang in watchdog.hangs][:1], watchdog.watching)\n",
    "healthy": "with torch_debugger.Watchdog(timeout=1.5):\n    train(5)\n    time.sleep(4)\n    train(5)\n",
}


Done = dict[str, tuple[int, str, str]]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Code, output and errors of each; all at once, since they stand for the most part."""
    running = {}
    for name, lines in PROGRAMS.items():
        script = tmp_path_factory.mktemp(name) / "train.py"
        script.write_text(TRAINING + lines)
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        running[name] = preloaded.Popen(
            [sys.executable, str(script)], stdout=PIPE, stderr=PIPE, text=True, env=environment
        )
    said = {name: process.communicate(timeout=120) for name, process in running.items()}
    return {name: (process.returncode, *said[name]) for name, process in running.items()}


def test_abort_says_where_and_ends_with_124(done: Done) -> None:
    code, _, stderr = done["aborted"]
    assert code == 124
    assert "lock-never-released" in stderr and "training (process" in stderr


def test_warn_goes_on_and_keeps_what_it_told(done: Done) -> None:
    _, stdout, stderr = done["warned"]
    assert stdout == "['event'] False\n", stderr
    assert "has stood still for" in stderr and "training (process" not in stderr


def test_a_healthy_loop_gets_silence(done: Done) -> None:
    assert done["healthy"] == (0, "", "")


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
