"""Ctrl-C while the training stands still is told as the hang that it was; in a healthy one it is just that."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import preloaded

TRAINING = """
import os, queue, signal, socket, sys, threading, time, torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
class NeverDelivers(torch.utils.data.Dataset):
    def __len__(self):
        return 100
    def __getitem__(self, index):
        if index == 12:
            threading.Event().wait()
        return torch.zeros(4)
def say_when_it_is_seen():
    from torch_debugger.runner.hang_watch import current_hang_watch
    vigil = current_hang_watch()._vigil
    while vigil._seen is None:
        time.sleep(0.1)
    open("seen", "w").close()
train(10)
threading.Thread(target=say_when_it_is_seen, daemon=True).start()
open("begun", "w").close()
"""
QUEUE = "queue.Queue().get()\n"
LOCK = "lock = threading.Lock()\nlock.acquire()\nlock.acquire()\n"
JOIN = "thread = threading.Thread(target=threading.Event().wait, daemon=True)\nthread.start()\nthread.join()\n"
LOADER = "for batch in torch.utils.data.DataLoader(NeverDelivers(), batch_size=4, num_workers=1):\n    train(1)\n"
SOCKET = "one, other = socket.socketpair()\none.recv(1)\n"
SLEEP = "for _ in range(10):\n    train(10)\n    time.sleep(1000)\n"
# Lookalikes.
HEALTHY = "while True:\n    train(3)\n    time.sleep(0.01)\n"
SLOW_STEPS = """
def work():
    end = time.process_time() + 3.0
    while time.process_time() < end:
        pass
while True:
    work()
    train(1)
"""
AFTERWARDS = "time.sleep(1000)\n"
LIMIT_S = 150


class Run:
    """One run in a folder and a process group of its own."""

    def __init__(self, folder: Path, lines: str) -> None:
        folder.mkdir()
        (folder / "train.py").write_text(TRAINING + lines)
        self.folder = folder
        ours = ["--hang-timeout", "16", "--json", "out.json", "--no-log"]
        with open(folder / "stderr", "w") as stderr:
            self.process = preloaded.Popen(
                [sys.executable, "-m", "torch_debugger", "run", *ours, "train.py"],
                cwd=folder,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )

    @property
    def stderr(self) -> str:
        return " ".join((self.folder / "stderr").read_text().split())

    def has(self, mark: str) -> bool:
        return (self.folder / mark).exists()

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out.json").read_text())
        return found


HANGS = {"queue": QUEUE, "lock": LOCK, "join": JOIN, "loader": LOADER, "socket": SOCKET, "sleep": SLEEP}
STILL = "The training has stood still for "
TOLD = {
    "sleep": ("training-stands-still", STILL, "it waits in `time.sleep(1000)` at train.py:30"),
    "queue": ("lock-never-released", STILL, "`queue.Queue().get()` at train.py:28"),
    "lock": ("lock-never-released", STILL, "`lock.acquire()` at train.py:30"),
    "join": ("lock-never-released", STILL, "`thread.join()` at train.py:30"),
    "loader": ("worker-deadlocked", "The training has waited ", "of the loader at train.py:28: worker 0 waits"),
    "socket": ("stalled-read", STILL, "waits for data of a network connection at train.py:29"),
}
LOOKALIKES = {"healthy": HEALTHY, "slow": SLOW_STEPS, "afterwards": AFTERWARDS}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """All at once: what they need is time to stand still, not the processor. The user waits until enough of a
    hang was seen, and presses Ctrl-C."""
    folder = tmp_path_factory.mktemp("interrupted")
    runs = {name: Run(folder / name, lines) for name, lines in (HANGS | LOOKALIKES).items()}
    try:
        for name, run in runs.items():
            wait_until(lambda run=run, mark="seen" if name in HANGS else "begun": run.has(mark))
            os.killpg(run.process.pid, signal.SIGINT)
        for run in runs.values():
            run.process.wait(LIMIT_S)
        yield runs
    finally:
        for run in runs.values():
            run.process.kill()
            run.process.wait()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_hang_is_told_as_one(runs: dict[str, Run]) -> None:
    wrong = []
    for name, (check, *said) in TOLD.items():
        result, status = runs[name].result, runs[name].process.returncode
        findings = [each for each in result["findings"] if each["severity"] == "error"]
        told = [(each["name"], each["message"]) for each in findings]
        is_told = len(told) == 1 and told[0][0] == check and all(words in told[0][1] for words in said)
        if not is_told or (result["outcome"], status) != ("hung", -signal.SIGINT):
            wrong.append((name, status, result["outcome"], told))
    assert not wrong


def test_the_rest_is_not(runs: dict[str, Run]) -> None:
    for name in LOOKALIKES:
        assert runs[name].result["outcome"] == "stopped", name
        assert [each for each in runs[name].result["findings"] if each["severity"] != "note"] == [], name
        assert runs[name].process.returncode == -signal.SIGINT, name
