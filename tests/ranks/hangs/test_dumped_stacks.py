"""Stacks of other processes, asked for by a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torch_debugger import dumped_stacks
from torch_debugger.dumped_stacks import ask, first_thread
from torch_debugger.ranks.hangs.asked_stacks import AskedStacks, below_worker_loop

TEXT = """Thread 0x0000ffff797ff1a0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait

Current thread 0x0000ffff93d56020 (most recent call first):
  File "/home/me/train.py", line 13 in __getitem__
  File "/usr/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 374 in _worker_loop
  File "/home/me/train.py", line 28 in <module>
"""


def test_the_first_thread_stands_last_and_is_turned_round() -> None:
    assert first_thread(TEXT) == [
        ("/home/me/train.py", 28, "<module>"),
        ("/usr/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", 374, "_worker_loop"),
        ("/home/me/train.py", 13, "__getitem__"),
    ]


@pytest.mark.parametrize("text", ["", "nothing of the kind", "Thread 0x12 (most recent call first):\n"])
def test_what_is_no_stack_gives_none(text: str) -> None:
    assert first_thread(text) == []


def test_of_a_worker_only_what_its_loop_called_is_shown() -> None:
    (line,) = below_worker_loop(first_thread(TEXT))
    assert (line.place.line, line.function, line.is_users) == (13, "__getitem__", True)


@pytest.mark.skipif(not hasattr(signal, "SIGRTMAX"), reason="needs real-time signals")
def test_a_fork_answers_also_when_it_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumped_stacks, "_ANSWER_S", 60.0)  # a busy machine may take more than a second
    asked = AskedStacks()
    asked.register()
    assert asked.number
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        lines = asked.of_process(child)
        assert any(line.function == "test_a_fork_answers_also_when_it_hangs" for line in lines)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        asked.unregister()
    assert asked.number == 0


def test_a_process_that_is_gone_says_nothing() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    fd = os.memfd_create("test")
    assert ask(child, signal.SIGUSR1, fd) == ""
    os.close(fd)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which signals another process catches")
def test_a_process_that_would_die_of_the_signal_is_not_asked(tmp_path: Path) -> None:
    with (
        open(tmp_path / "answer", "w+b") as answer,
        subprocess.Popen(["sleep", "600"]) as child,
    ):
        assert ask(child.pid, signal.SIGRTMAX - 3, answer.fileno()) == ""
        assert child.poll() is None
        child.kill()
    assert child.returncode == -signal.SIGKILL
