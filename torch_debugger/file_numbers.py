"""High numbers for our files in somebody else's program: its own get those that they would get without us."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_FIRST = 200


def out_of_the_way(fd: int) -> int:
    """The same file under a high number; under its own where so many may not be open."""
    try:
        import fcntl  # not on Windows

        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST)
    except (ImportError, OSError):
        return fd
    os.close(fd)
    return moved


@contextlib.contextmanager
def high_numbers(fd: int) -> Iterator[None]:
    """For what opens files by itself: in here `fd` takes all the low ones."""
    taken: list[int] = []
    try:
        while not taken or taken[-1] < _FIRST - 1:
            taken.append(os.dup(fd))
    except OSError:  # so many may not be open
        _close(taken)
    try:
        yield
    finally:
        _close(taken)


def _close(fds: list[int]) -> None:
    while fds:
        os.close(fds.pop())
