"""Stacks of processes that cannot tell them by themselves: of the training while it holds Python's lock, and of
its loaders' workers.

Handler and file are made once in the training process. Workers that it forks later have both of them from their
beginning, and nothing has to be done there.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading

from torch_debugger.anatomy.sources import is_user_file, package_folder, place_at
from torch_debugger.dumped_stacks import Row, ask, first_thread
from torch_debugger.records import Place, StackLine

_WORKER_LOOP = "_worker_loop"


class AskedStacks:
    """`number` is the signal by which a process is asked, 0 where it cannot be; `fd` the file it writes to."""

    def __init__(self) -> None:
        self.number = 0
        self.fd = -1
        self._pid = os.getpid()

    def register(self) -> None:
        number = _free_signal()
        if not number or not hasattr(os, "memfd_create"):
            return
        self.fd = os.memfd_create("torch-debugger-stacks")
        faulthandler.register(number, file=self.fd, all_threads=True)
        self.number = number

    def unregister(self) -> None:
        if self.number and os.getpid() == self._pid:
            number, self.number = self.number, 0
            faulthandler.unregister(number)
            os.close(self.fd)

    def of_process(self, pid: int) -> tuple[StackLine, ...]:
        """The thread of it that does the work; empty where it does not answer."""
        return below_worker_loop(first_thread(ask(pid, self.number, self.fd))) if self.number else ()


def below_worker_loop(rows: list[Row]) -> tuple[StackLine, ...]:
    """A forked worker's stack has that of the training around it."""
    loops = [index for index, row in enumerate(rows) if row[2] == _WORKER_LOOP]
    inside = rows[loops[-1] + 1 :] if loops else rows
    return tuple(_stack_line(*row) for row in inside if not row[0].startswith(package_folder()))


def _stack_line(file: str, line: int, function: str) -> StackLine:
    users = is_user_file(file)
    return StackLine(place_at(file, line) if users else Place(file, line), function, users)


def _free_signal() -> int:
    """One of the last of the real-time signals, which hardly anybody uses."""
    if not hasattr(signal, "SIGRTMAX") or not hasattr(faulthandler, "register"):
        return 0
    if threading.current_thread() is not threading.main_thread():
        return 0
    numbers = range(signal.SIGRTMAX - 3, signal.SIGRTMIN, -1)
    return next((number for number in numbers if signal.getsignal(number) is signal.SIG_DFL), 0)
