"""Whether a process that the training waits for is at something of its own: real processes, real pipes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from torch_debugger.ranks import process_activity as children
from torch_debugger.ranks.process_activity import KernelView, channels_of, child_is_at_work, view_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
WAITING = KernelView(0.0, 0, "S", "wait4", -1, "")
READS, SLEEPS, COMPUTES = "import sys; sys.stdin.read()", "import time; time.sleep(60)", "while True: pass"
SERVES = "import socket; s = socket.create_server(('127.0.0.1', 0)); s.accept()"


@pytest.fixture(autouse=True)
def only_children_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the tests may have others, such as the preloaded one."""
    all_of_them, before = children._children, set(children._children())
    monkeypatch.setattr(children, "_children", lambda: [pid for pid in all_of_them() if pid not in before])


@contextmanager
def child(program: str, call: str) -> Iterator[int]:
    """A child that has come to that system call; where those of others are hidden, there is nothing to test."""
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 120
        while (view := view_process(process.pid)) is None or view.call not in call.split():
            if view is not None and not view.call:
                pytest.skip("the system calls of other processes are hidden here")
            assert time.monotonic() < deadline, view
            time.sleep(0.05)
        yield process.pid
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("by_sleeping", [True, False])
def test_a_child_that_waits_for_us_is_not_at_work(by_sleeping: bool) -> None:
    with child(READS, "read"):
        assert not child_is_at_work(WAITING, by_sleeping=by_sleeping)


def test_a_child_that_sleeps_may_be() -> None:
    with child(SLEEPS, "clock_nanosleep nanosleep select pselect6"):
        assert child_is_at_work(WAITING, by_sleeping=True)


def test_a_child_that_computes_or_waits_for_the_network_is() -> None:
    with child(COMPUTES, "running"):
        assert child_is_at_work(WAITING, by_sleeping=False)
    with child(SERVES, "accept accept4"):
        assert child_is_at_work(WAITING, by_sleeping=False)


def test_at_a_pipe_only_who_holds_its_other_end_counts() -> None:
    read_end, write_end = os.pipe()
    with child(COMPUTES, "running"):
        target = os.readlink(f"/proc/self/fd/{read_end}")
        assert target in channels_of(os.getpid())
        reading = KernelView(0.0, 0, "S", "read", read_end, target)
        assert not child_is_at_work(reading, by_sleeping=False)
    os.close(read_end)
    os.close(write_end)


def test_without_a_view_nothing_is_known() -> None:
    assert not child_is_at_work(None, by_sleeping=True)
    assert channels_of(2**30) == set()
