"""A few live numbers that the watched process writes and its parent reads, through shared memory.

Assigning costs a store and no system call, so the training thread can do it every step.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
from typing import NamedTuple

from torch_debugger.log.event_files import Descriptor
from torch_debugger.records import Request
from torch_debugger.records.base import to_plain

_NOTED = 9  # the word that says how many steps were noted
# Of the last steps, more than pass between two writes of the log; and what a step takes.
_RING, _WORDS = 8192, 3
_FIRST = _NOTED + 1
_SIZE_BYTES = (_FIRST + _RING * _WORDS) * 8


class NotedStep(NamedTuple):
    step: int
    time: float
    loss: float  # nan: not known


class _Word:
    """One of the board's whole numbers."""

    __slots__ = ("_place",)

    def __init__(self, place: int) -> None:
        self._place = place

    def __get__(self, board: Board, _: type[Board]) -> int:
        return board._numbers[self._place]

    def __set__(self, board: Board, value: int) -> None:
        board._numbers[self._place] = value


class Board:
    """Shared by whoever maps the same file. Each number is one aligned word: no reader sees half of one."""

    __slots__ = ("_numbers", "_reals", "fd")

    step = _Word(0)
    at_prompt = _Word(2)  # how many calls of input() are waiting for the user
    torch_seen = _Word(3)  # 1 once the script has imported torch
    crash = _Word(4)  # how far a traceback is on its way to the parent: see runner/launch.py
    trials = _Word(5)  # how many of a pre-flight are done
    beats = _Word(6)  # of the watchdog's thread in the child: it stops where Python's lock is held, or the process
    stack_signal = _Word(7)  # by which the child is asked for its stacks; 0: it must not be
    stacks_fd = _Word(8)  # the child's descriptor of the file that it writes them to

    def __init__(self, fd: int) -> None:
        self.fd = fd
        shared = memoryview(mmap.mmap(fd, _SIZE_BYTES))
        self._numbers = shared.cast("q")
        self._reals = shared.cast("d")

    @staticmethod
    def create() -> Board:
        """A new board over a file without a name; its `fd` is for the child."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("torch-debugger-board")
        else:
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        os.ftruncate(fd, _SIZE_BYTES)
        board = Board(fd)
        board.loss = float("nan")
        return board

    @property
    def loss(self) -> float:
        return self._reals[1]

    @loss.setter
    def loss(self, value: float) -> None:
        self._reals[1] = value

    def note(self, step: int, time: float, loss: float) -> None:
        """What is left of a step when the process is killed before it was logged."""
        noted = self._numbers[_NOTED]
        place = _FIRST + noted % _RING * _WORDS
        self._numbers[place] = step
        self._reals[place + 1] = time
        self._reals[place + 2] = loss
        self._numbers[_NOTED] = noted + 1

    def last_steps(self) -> list[NotedStep]:
        """The oldest first. For whoever reads when nobody writes any more."""
        noted = self._numbers[_NOTED]
        places = [_FIRST + number % _RING * _WORDS for number in range(max(0, noted - _RING), noted)]
        return [NotedStep(self._numbers[at], self._reals[at + 1], self._reals[at + 2]) for at in places]


# The pipe upstream: the judge's wishes for a closer look, read between steps and never waited for.

# A write of up to 512 bytes to a pipe is done whole or not at all on every POSIX system.
_WHOLE_BYTES = 512


def make_request_pipe() -> tuple[RequestReader, RequestSender]:
    reading_fd, writing_fd = os.pipe()
    return RequestReader(reading_fd), RequestSender(writing_fd)


class RequestSender:
    """The judge's end. A full pipe or a reader that has gone loses the request, nothing else."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        os.set_blocking(fd, False)

    def send(self, request: Request) -> None:
        line = _line(request)
        if len(line) > _WHOLE_BYTES:
            # A close look at every module contains the one asked for.
            line = _line(Request(request.steps, profile=request.profile))
        try:
            os.write(self.fd, line)
        except (BlockingIOError, BrokenPipeError):
            return

    def close(self) -> None:
        os.close(self.fd)


class RequestReader:
    """The watched process's end."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._descriptor = Descriptor(fd)
        self._open = True
        self._partial = b""
        os.set_blocking(fd, False)

    def poll(self) -> list[Request]:
        """What has come since the last call; never waits."""
        self._open = self._open and self._descriptor.is_ours()
        if not self._open:
            return []
        try:
            received = os.read(self.fd, 65536)
        except BlockingIOError:
            return []
        self._open = bool(received)  # nothing to read, ever again: the parent has gone
        *lines, self._partial = (self._partial + received).split(b"\n")
        return [
            Request(plain["steps"], tuple(plain["modules"]), plain["reason"], plain["profile"])
            for plain in map(json.loads, lines)
        ]

    def close(self) -> None:
        self._open = False
        self._descriptor.close()


def _line(request: Request) -> bytes:
    return json.dumps(to_plain(request)).encode() + b"\n"
