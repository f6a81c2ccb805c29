"""File descriptors of ours inside somebody else's program.

A script may close every descriptor it does not know (daemons do) and then open files of its own,
which get the same numbers. Whoever reads or writes by number must look first whose it is now.
"""

from __future__ import annotations

import os


class Descriptor:
    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._identity = _identity(fd)

    def is_ours(self) -> bool:
        """Whether the number still stands for the file it stood for at first."""
        return self._identity is not None and _identity(self.fd) == self._identity

    def close(self) -> None:
        if self.is_ours():
            os.close(self.fd)


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(fd)
    except OSError as error:
        if error.errno is None:  # no answer of the system's: thrown in by another thread of the script's
            raise
        return None
    return found.st_dev, found.st_ino
