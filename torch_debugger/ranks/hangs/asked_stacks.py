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
from os import getpid

from torch_debugger.anatomy.sources import is_user_file, package_folder, place_at
from torch_debugger.dumped_stacks import FILE, Row, ask, first_thread, is_file_of_stacks
from torch_debugger.file_numbers import out_of_the_way
from torch_debugger.records import Place, StackLine

_WORKER_LOOP = "_worker_loop"


class AskedStacks:
    def __init__(self) -> None:
        self.fd = -1  # of the file that a process writes to
        self._registered = 0
        self._pid = getpid()

    @property
    def number(self) -> int:
        """The signal by which a process is asked; 0 where none can be, or the script has taken it."""
        number = self._registered
        return number if number and signal.getsignal(number) is signal.SIG_DFL else 0

    def register(self) -> None:
        number = _free_signal()
        if not number or not hasattr(os, "memfd_create"):
            return
        self.fd = out_of_the_way(os.memfd_create(FILE))
        faulthandler.register(number, file=self.fd, all_threads=True)
        self._registered = number

    def unregister(self) -> None:
        if self._registered and getpid() == self._pid:
            if self.number:
                faulthandler.unregister(self.number)
            self._registered = 0
            if is_file_of_stacks(self._pid, self.fd):  # else a file of the script's may have its number
                os.close(self.fd)

    def of_process(self, pid: int) -> tuple[StackLine, ...]:
        """The thread of it that does the work; empty where it does not answer."""
        number = self.number
        return below_worker_loop(first_thread(ask(pid, number, self.fd))) if number else ()


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
