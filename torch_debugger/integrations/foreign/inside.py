"""Files of a folder that somebody else has written: regular ones that lie in it, and nothing they point to.

A link may lead to any file of this machine, whose text would land in a log; a FIFO would be waited for.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

LARGEST_BYTES = 1 << 30
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotInsideError(OSError):
    """A link, a FIFO, a device, a file of another folder, or one that is too large."""


def files_below(folder: Path) -> Iterator[Path]:
    """Regular files, however deep, by name; links are left out, be it to files or to folders."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        yield from (path for path in map(Path(here).joinpath, sorted(names)) if is_regular(path))


def is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def read_inside(root: Path, path: Path, most: int = LARGEST_BYTES) -> bytes:
    """The bytes of a regular file below `root`."""
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise NotInsideError("it lies in another folder")
    if not is_regular(path):
        raise NotInsideError("it is a link or no file" if os.path.lexists(path) else "it is not there")
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        if os.fstat(file.fileno()).st_size > most:
            raise NotInsideError(f"it is larger than {most:,} bytes")
        return file.read(most)
