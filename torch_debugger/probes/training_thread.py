"""The one thread whose training is watched.

Gradients are read while nobody writes them, which only the thread that trains can promise. Threads that only
call a model (actors, loaders) are not listened to. Where a second thread trains at the same time, maybe the
same weights, nothing is looked at any more.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from torch_debugger.clocks import time

# Where a thread waits that has given its work to another: for a lock or an event of Python's, in an event loop,
# in a pool.
_WAITING = ("threading.py", "selectors.py", os.path.join("concurrent", "futures", "thread.py"))
_LIBRARY = os.path.dirname(threading.__file__)
_QUIET_S = 1.0  # a thread that has not trained for so long has handed over


class TrainingThread:
    def __init__(self, step_aside: Callable[[], None], is_looking: Callable[[], bool]) -> None:
        self._step_aside, self._is_looking = step_aside, is_looking
        self._thread = 0
        self._trained_s = 0.0

    def is_this(self) -> bool:
        """Asked at every call of a model; the first to call one is it, until another trains."""
        thread = threading.get_ident()
        if thread == self._thread:
            return True
        if not self._thread:
            self._thread = thread
            return True
        return _is_autograds(thread)

    def trains(self) -> None:
        """Said by this thread at each backward and each update."""
        thread = threading.get_ident()
        if thread != self._thread and not _is_autograds(thread):
            is_recent = time.perf_counter() - self._trained_s < _QUIET_S
            if self._is_looking() or (is_recent and not _has_handed_over(self._thread)):
                self._step_aside()
                return
            self._thread = thread
        self._trained_s = time.perf_counter()


def _has_handed_over(thread: int) -> bool:
    """It has ended, or waits, maybe for this one."""
    frame = sys._current_frames().get(thread)
    return frame is None or os.path.relpath(frame.f_code.co_filename, _LIBRARY) in _WAITING


def _is_autograds(thread: int) -> bool:
    """Of the backward on a GPU: not made by Python, and its calls are those of the thread that waits for it."""
    made = threading._active.get(thread)  # type: ignore[attr-defined]
    return made is None or isinstance(made, threading._DummyThread)
