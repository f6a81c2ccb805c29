"""Hangs under `torch-debugger run`: what is said, how it ends, and what must be met with silence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

TRAINING = """
import threading, time, torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
train(10)
"""
LIMIT_S = 150


class Run:
    """One run in a folder of its own; `stdin` stays open until the end."""

    def __init__(self, folder: Path, lines: str, *options: str) -> None:
        (folder / "train.py").write_text(TRAINING + lines)
        ours = ["--hang-timeout", "2", "--json", "out.json", "--log-dir", "log", *options]
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "torch_debugger", "run", *ours, "train.py"],
            cwd=folder,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self, stdin: str = "") -> tuple[dict[str, Any], str]:
        _, stderr = self.process.communicate(stdin, timeout=LIMIT_S)
        result: dict[str, Any] = json.loads((self.folder / "out.json").read_text())
        return result, stderr

    def wait_for_steps(self) -> None:
        """Until the training has made its steps and the lines behind it run."""
        deadline = time.monotonic() + LIMIT_S
        while not (self.folder / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.1)


def loud(result: dict[str, Any]) -> list[str]:
    return [finding["message"] for finding in result["findings"] if finding["severity"] != "note"]


def test_abort_ends_everything_with_124_and_tells_it_everywhere(tmp_path: Path) -> None:
    lines = "import subprocess\nhelper = subprocess.Popen(['sleep', '600'])\nlock = threading.Lock()\n"
    run = Run(tmp_path, lines + "lock.acquire()\nlock.acquire()\n", "--on-hang", "abort")
    result, stderr = run.end()
    assert run.process.returncode == 124
    assert (result["outcome"], result["exit_code"], result["steps"]) == ("hung", 124, 10)
    assert result["findings"][0]["name"] == "lock-never-released"
    (hang,) = result["hangs"]
    assert hang["kind"] == "lock" and hang["stacks"][0]["lines"][-1].endswith("lock.acquire()")
    assert "training (process" in stderr and "stopped making progress with exit code 124" in stderr
    assert "Where everybody stood" in (tmp_path / "log" / "report.md").read_text()
    assert not [each for each in psutil.process_iter(["cwd"]) if each.info["cwd"] == str(tmp_path)]


def test_by_default_it_only_tells_and_what_goes_on_is_a_note(tmp_path: Path) -> None:
    run = Run(tmp_path, "threading.Event().wait(7)\ntrain(10)\n")
    result, stderr = run.end()
    assert run.process.returncode == 0
    assert (result["outcome"], loud(result)) == ("finished", [])
    assert "has stood still for" in stderr
    assert any("then went on by itself" in finding["message"] for finding in result["findings"])


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    result, stderr = Run(tmp_path, "threading.Event().wait(6)\n", "--no-watchdog").end()
    assert result["findings"] == [] and "stood still" not in stderr


def test_one_at_a_debugger_is_left_alone(tmp_path: Path) -> None:
    run = Run(tmp_path, "open('begun', 'w').close()\nbreakpoint()\ntrain(3)\n")
    run.wait_for_steps()
    time.sleep(6)
    result, stderr = run.end("c\n")
    assert (result["outcome"], loud(result)) == ("finished", []) and "stood still" not in stderr


def test_one_that_asks_a_question_is_left_alone(tmp_path: Path) -> None:
    run = Run(tmp_path, "open('begun', 'w').close()\ninput('on? ')\ntrain(3)\n")
    run.wait_for_steps()
    time.sleep(6)
    result, stderr = run.end("y\n")
    assert (result["outcome"], loud(result)) == ("finished", []) and "stood still" not in stderr


def test_a_job_that_was_stopped_for_a_while_did_not_hang(tmp_path: Path) -> None:
    lines = "open('begun', 'w').close()\nfor _ in range(40):\n    train(3)\n    time.sleep(0.05)\n"
    run = Run(tmp_path, lines)
    run.wait_for_steps()
    os.killpg(run.process.pid, signal.SIGSTOP)
    time.sleep(6)
    os.killpg(run.process.pid, signal.SIGCONT)
    result, stderr = run.end()
    assert (result["outcome"], loud(result)) == ("finished", []) and "stood still" not in stderr


def test_a_script_that_sets_its_own_watchdog_is_heard(tmp_path: Path) -> None:
    lines = "import torch_debugger\nwith torch_debugger.Watchdog(timeout=60):\n    threading.Event().wait(6)\n"
    result, stderr = Run(tmp_path, lines).end()
    assert result["outcome"] == "finished" and "stood still" not in stderr


@pytest.mark.parametrize("text", ["soon", "0", "-3"])
def test_a_timeout_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    command = [sys.executable, "-m", "torch_debugger", "run", f"--hang-timeout={text}", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2
    assert "--hang-timeout takes a number of seconds, or a time such as 90s or 5m" in done.stderr
