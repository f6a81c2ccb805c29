"""Stacks of this process's threads, read without running anything in them."""

from __future__ import annotations

import ast
import faulthandler
import gc
import itertools
import os
import signal
import sys
import threading
from collections.abc import Iterator
from os import getpid
from types import FrameType

from torch_debugger.records import Place, StackLine
from torch_debugger.source.files import is_user_file, package_folder, place_at
from torch_debugger.source.frames import place_of
from torch_debugger.source.syntax import nodes_in
from torch_debugger.system.files import FILE, Row, ask, first_thread, is_file_of_stacks, out_of_the_way

_DEEPEST = 100
Path = tuple[tuple[int, int], ...]  # code and instruction of each frame of the user's


def current_frame(thread: int) -> FrameType | None:
    """Without a collection of garbage meanwhile: what it frees of the user's would be freed by this thread."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)
    finally:
        if collects:
            gc.enable()


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Innermost first, without frames of ours."""
    while frame is not None:
        if not frame.f_code.co_filename.startswith(package_folder()):
            yield frame
        frame = frame.f_back


def users_path(frame: FrameType | None) -> Path:
    """Where the user's functions are; what a library does below them may change."""
    return tuple((id(each.f_code), each.f_lasti) for each in outwards(frame) if is_user_file(each.f_code.co_filename))


def lines_of(frame: FrameType | None) -> tuple[StackLine, ...]:
    """Outermost first."""
    found = []
    for each in itertools.islice(outwards(frame), _DEEPEST):
        code = each.f_code
        users = is_user_file(code.co_filename)
        place = place_of(each) if users else Place(code.co_filename, each.f_lineno)
        found.append(StackLine(place, str(getattr(code, "co_qualname", code.co_name)), users))
    return tuple(reversed(found))


def other_threads(excluded: int) -> list[tuple[threading.Thread, FrameType]]:
    """Those of the user's and of libraries; threads of ours are of no interest."""
    frames = sys._current_frames()
    known = [thread for thread in threading.enumerate() if thread.ident not in (None, excluded)]
    others = [thread for thread in known if not thread.name.startswith(("torch-debugger", "torch_debugger"))]
    return [(thread, frame) for thread in others if (frame := frames.get(thread.ident or 0)) is not None]


# Stacks of processes that cannot tell them by themselves: of the training while it holds Python's lock, and of its
# loaders' workers.
#
# Handler and file are made once in the training process. Workers that it forks later have both of them from their
# beginning, and nothing has to be done there.
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
        known = hasattr(signal, "SIGRTMAX") and hasattr(faulthandler, "register") and hasattr(os, "memfd_create")
        if not known or threading.current_thread() is not threading.main_thread():
            return
        # one of the last of the real-time signals, which hardly anybody uses
        numbers = range(signal.SIGRTMAX - 3, signal.SIGRTMIN, -1)
        number = next((each for each in numbers if signal.getsignal(each) is signal.SIG_DFL), 0)
        if not number:
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
    found = []
    for file, line, function in inside:
        if not file.startswith(package_folder()):
            users = is_user_file(file)
            found.append(StackLine(place_at(file, line) if users else Place(file, line), function, users))
    return tuple(found)


class TrainingLoop:
    def __init__(self) -> None:
        self._loops: set[tuple[str, int, int]] = set()  # of a file, from a line to a line
        self._steps = 0

    def note(self, frame: FrameType) -> None:
        """A step was made below these frames; looked at are the first, second, fourth, eighth, ..."""
        self._steps += 1
        if not self._steps & (self._steps - 1):
            for file, line in _users_lines(frame):
                for node in nodes_in(file, (ast.For, ast.AsyncFor, ast.While)):
                    last = node.end_lineno or node.lineno
                    if node.lineno <= line <= last:
                        self._loops.add((file, node.lineno, last))

    def holds(self, frame: FrameType | None) -> bool:
        lines = _users_lines(frame)
        return any(
            file == loop and first <= line <= last
            for loop, first, last in self._loops for file, line in lines
        )  # fmt: skip


def _users_lines(frame: FrameType | None) -> list[tuple[str, int]]:
    """Up to the module that runs: whatever runs it may loop as well."""
    found = []
    for each in outwards(frame):
        if is_user_file(each.f_code.co_filename):
            found.append((each.f_code.co_filename, each.f_lineno))
        if each.f_code.co_name == "<module>":
            break
    return found
