"""Stacks of other processes, asked for by a signal."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from torch_debugger.ranks.thread_stacks import AskedStacks, below_worker_loop
from torch_debugger.system import files as dumped_stacks
from torch_debugger.system.files import ask, first_thread

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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[AskedStacks]:
    if sys.platform != "linux":
        pytest.skip("only Linux has real-time signals and tells which of them another process catches")
    monkeypatch.setattr(dumped_stacks, "_ANSWER_S", 60.0)  # a busy machine may take more than a second
    asked = AskedStacks()
    asked.register()
    assert asked.number
    yield asked
    asked.unregister()


def test_a_fork_answers_also_when_it_hangs(asked: AskedStacks) -> None:
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


# Who must not be asked: the signal would end it, or its answer would go elsewhere


def stand(has_begun: Event, may_end: Event) -> None:
    has_begun.set()
    may_end.wait()


def test_a_spawned_worker_is_not_ended_by_the_question(asked: AskedStacks) -> None:
    context = multiprocessing.get_context("spawn")
    has_begun, may_end = context.Event(), context.Event()
    worker = context.Process(target=stand, args=(has_begun, may_end))
    worker.start()
    has_begun.wait()  # a fork before that, which would answer
    assert worker.pid is not None
    lines = asked.of_process(worker.pid)
    may_end.set()
    worker.join()
    assert (lines, worker.exitcode) == ((), 0)


def test_a_program_that_took_the_place_of_one_that_answers_is_not_ended(asked: AskedStacks) -> None:
    """By exec, which forgets the handler; here even with the file of the one that had it."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[asked.fd]) as other:
        assert asked.of_process(other.pid) == ()
    assert other.returncode == 0


def test_nothing_is_written_into_a_file_that_has_got_the_number(asked: AskedStacks, tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(write)
        os.dup2(os.open(own, os.O_WRONLY | os.O_CREAT), asked.fd)
        os.write(asked.fd, b"mine\n")
        os.read(read, 1)
        os._exit(3)
    os.close(read)
    while not own.exists() or not own.stat().st_size:
        time.sleep(0.01)
    lines = asked.of_process(child)
    os.close(write)
    assert (lines, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])) == ((), 3)
    assert own.read_text() == "mine\n"


def test_the_file_of_a_script_that_has_the_number_is_left_open(asked: AskedStacks, tmp_path: Path) -> None:
    with open(tmp_path / "own.txt", "w") as file:
        os.dup2(file.fileno(), asked.fd)
    asked.unregister()
    os.write(asked.fd, b"mine")
    os.close(asked.fd)


def test_a_signal_that_the_script_takes_for_itself_is_its_own(asked: AskedStacks) -> None:
    number, met = asked.number, []
    signal.signal(number, lambda *_: met.append("mine"))
    try:
        assert asked.number == 0
        assert (asked.of_process(os.getpid()), met) == ((), [])
        asked.unregister()
        signal.raise_signal(number)
        assert met == ["mine"]
    finally:
        signal.signal(number, signal.SIG_DFL)
