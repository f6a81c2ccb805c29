"""How the kernel names and sees the threads of this process."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading

import pytest

from torch_debugger.ranks.process_activity import kernel_id, view_thread

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


def _look_from_a_fork(answers: multiprocessing.SimpleQueue[tuple[int, bool]]) -> None:
    own = kernel_id(threading.main_thread())
    answers.put((own - os.getpid(), view_thread(os.getpid(), own) is not None))


def test_the_main_thread_of_a_forked_process_is_its_own() -> None:
    fork = multiprocessing.get_context("fork")
    answers: multiprocessing.SimpleQueue[tuple[int, bool]] = fork.SimpleQueue()
    process = fork.Process(target=_look_from_a_fork, args=(answers,))
    process.start()
    process.join()
    assert answers.get() == (0, True)


def test_other_threads_have_the_number_that_the_kernel_gave_them() -> None:
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(kernel_id(thread) == threading.get_native_id()))
    thread.start()
    thread.join()
    assert seen == [True]
