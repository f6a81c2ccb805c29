"""When processes end, noted by a thread that waits for them and reaps none: that is the script's business."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.process import BaseProcess

from torch_debugger.clocks import time
from torch_debugger.signals import OwnThread

_LOOK_EVERY_S = 0.2  # for processes that were started meanwhile


@dataclass
class _Started:
    process: BaseProcess
    pid: int
    sentinel: int  # our own copy: the script may close its process
    ended: float = 0.0  # seconds since the epoch; 0: it runs


class Deaths:
    """Those who were added, and when each ended."""

    def __init__(self) -> None:
        self._started: list[_Started] = []
        self._thread: threading.Thread | None = None
        self._over = False

    def add(self, process: BaseProcess) -> None:
        assert process.pid is not None
        self._started.append(_Started(process, process.pid, os.dup(process.sentinel)))
        if self._thread is None:
            self._thread = OwnThread(self._follow, "torch_debugger ranks")
            self._thread.start()

    def stop(self) -> None:
        self._over = True
        if self._thread is not None:
            self._thread.join()
        for each in self._started:
            os.close(each.sentinel)
        self._started.clear()

    def ended(self) -> list[tuple[int, int, float]]:
        """Of those that have: process number, exit status (-n for signal n), and when. Asking them anything
        would reap them, so this is for when the script itself has ended."""
        found: list[tuple[int, int, float]] = []
        for each in self._started:
            status = _status(each.process)
            if status is not None:
                found.append((each.pid, status, each.ended or time.time()))
        return found

    def _follow(self) -> None:
        while not self._over:
            waiting = {each.sentinel: each for each in self._started if not each.ended}
            for sentinel in connection.wait(list(waiting), _LOOK_EVERY_S) if waiting else ():
                waiting[sentinel].ended = time.time()  # type: ignore[index]
            if not waiting:
                time.sleep(_LOOK_EVERY_S)


def _status(process: BaseProcess) -> int | None:
    with suppress(ValueError):  # closed by the script
        return process.exitcode
    return None
