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


class Board:
    """Shared by whoever maps the same file. Each number is one aligned word: no reader sees half of one."""

    __slots__ = ("_numbers", "_reals", "fd")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        shared = memoryview(mmap.mmap(fd, _SIZE_BYTES))
        self._numbers = shared.cast("q")
        self._reals = shared.cast("d")

    @staticmethod
    def create() -> Board:
        """A new board over a file without a name; its `fd` is for the child."""
        fd = _nameless_file()
        os.ftruncate(fd, _SIZE_BYTES)
        board = Board(fd)
        board.loss = float("nan")
        return board

    @property
    def step(self) -> int:
        return self._numbers[0]

    @step.setter
    def step(self, value: int) -> None:
        self._numbers[0] = value

    @property
    def loss(self) -> float:
        return self._reals[1]

    @loss.setter
    def loss(self, value: float) -> None:
        self._reals[1] = value

    @property
    def at_prompt(self) -> int:
        """How many calls of input() are waiting for the user."""
        return self._numbers[2]

    @at_prompt.setter
    def at_prompt(self, value: int) -> None:
        self._numbers[2] = value

    @property
    def torch_seen(self) -> int:
        """1 once the script has imported torch."""
        return self._numbers[3]

    @torch_seen.setter
    def torch_seen(self, value: int) -> None:
        self._numbers[3] = value

    @property
    def crash(self) -> int:
        """How far a traceback is on its way to the parent: see runner/launch.py."""
        return self._numbers[4]

    @crash.setter
    def crash(self, value: int) -> None:
        self._numbers[4] = value

    @property
    def trials(self) -> int:
        """How many trials of a pre-flight are done."""
        return self._numbers[5]

    @trials.setter
    def trials(self, value: int) -> None:
        self._numbers[5] = value

    @property
    def beats(self) -> int:
        """Of the watchdog's thread in the child: it stops where Python's lock is held, or the process
        stopped."""
        return self._numbers[6]

    @beats.setter
    def beats(self, value: int) -> None:
        self._numbers[6] = value

    @property
    def stack_signal(self) -> int:
        """By which the child is asked for its stacks; 0: it must not be."""
        return self._numbers[7]

    @stack_signal.setter
    def stack_signal(self, value: int) -> None:
        self._numbers[7] = value

    @property
    def stacks_fd(self) -> int:
        """The child's descriptor of the file that it writes them to."""
        return self._numbers[8]

    @stacks_fd.setter
    def stacks_fd(self, value: int) -> None:
        self._numbers[8] = value

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


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("torch-debugger-board")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


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
        return [_request(line) for line in lines]

    def close(self) -> None:
        self._open = False
        self._descriptor.close()


def _line(request: Request) -> bytes:
    return json.dumps(to_plain(request)).encode() + b"\n"


def _request(line: bytes) -> Request:
    plain = json.loads(line)
    return Request(plain["steps"], tuple(plain["modules"]), plain["reason"], plain["profile"])
