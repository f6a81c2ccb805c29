"""The one file a writer appends to."""

from __future__ import annotations

import errno
import io
import itertools
import os
import re
import socket
import time
from pathlib import Path

from torch_debugger.errors import DebuggerError
from torch_debugger.runlog.descriptors import Descriptor


class LogFile(io.FileIO):
    """A new file. It writes to nothing else, whatever the script does with its descriptor."""

    def __init__(self, path: Path) -> None:
        self._descriptor = Descriptor(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        super().__init__(self._descriptor.fd, "w", closefd=False)

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        if not self._descriptor.is_ours():
            raise OSError(errno.EBADF, "the script closed its file")
        return super().write(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._descriptor.close()


def create_log_file(folder: str | os.PathLike[str], first_bytes: bytes) -> io.FileIO:
    """A new event file in `folder`, which is made if need be. Unbuffered: what was written survives us."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        file = _open_new(Path(folder))
        write_all(file, first_bytes)
    except OSError as error:
        raise DebuggerError(
            f"The run log cannot be written to {os.fspath(folder)!r}: {error.strerror}. "
            "Name a folder that can be written with --log-dir, or keep no log with --no-log."
        ) from error
    return file


def write_all(file: io.FileIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def is_deleted(file: io.FileIO) -> bool:
    return os.fstat(file.fileno()).st_nlink == 0


def _open_new(folder: Path) -> io.FileIO:
    host = re.sub(r"[^A-Za-z0-9_-]", "_", socket.gethostname())
    stem = f"events.out.tfevents.{int(time.time()):010d}.{host}.{os.getpid()}.torch_debugger"
    for number in itertools.count():
        try:
            return LogFile(folder / f"{stem}.{number}")
        except FileExistsError:
            continue
    raise AssertionError("unreachable: the count has no end")
