"""The files a writer appends to, one after the other."""

from __future__ import annotations

import errno
import io
import os
import re
import socket
import sys
from os import getpid
from pathlib import Path

from torch_debugger.system.clocks import time
from torch_debugger.system.errors import DebuggerError
from torch_debugger.system.files import out_of_the_way


class LogFile(io.FileIO):
    """A new file. It writes to nothing else, whatever the script does with its descriptor."""

    def __init__(self, path: Path) -> None:
        self._descriptor = Descriptor(out_of_the_way(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)))
        super().__init__(self._descriptor.fd, "w", closefd=False)

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        if not self._descriptor.is_ours():
            raise OSError(errno.EBADF, "the script closed its file")
        return super().write(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._descriptor.close()


class LogFiles:
    """Names and opens the event files of one writer: no other writer's, of this process or another, has
    the same names, and in the order of their names they are in the order of their making. Files are
    unbuffered: what was written survives us."""

    def __init__(self, folder: str | os.PathLike[str], rank: int | None, suffix: str) -> None:
        self._folder = Path(folder)
        self._suffix = re.sub(r"[/\\\0]", "_", suffix)
        whose = "" if rank is None else f".rank{rank}"
        self._owner = f"{host_in_names()}.{getpid()}.torch_debugger{whose}"
        self._opened_us = self._part = 0

    def open_first(self) -> io.FileIO:
        """In a folder that is made if need be."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # The clock may stand still, or have been set back since the folder's last file was made.
            self._opened_us = max(time.time_ns() // 1000, *map(_first_free_us, os.listdir(self._folder)), 0)
            while True:
                try:
                    return LogFile(self._path())
                except FileExistsError:  # of another writer
                    self._opened_us += 1
        except OSError as error:
            raise DebuggerError(
                f"The run log cannot be written to {os.fspath(self._folder)!r}: {error.strerror}. "
                "Name a folder that can be written with --log-dir, or keep no log with --no-log."
            ) from error

    def open_next(self) -> io.FileIO | None:
        """None where there can be none: then the last one must do."""
        self._part += 1
        try:
            return LogFile(self._path())
        except OSError:
            return None

    def _path(self) -> Path:
        seconds, rest_us = divmod(self._opened_us, 1_000_000)
        name = f"events.out.tfevents.{seconds:010d}.{rest_us:06d}.{self._owner}.{self._part:05d}{self._suffix}"
        return self._folder / name


def _first_free_us(name: str) -> int:
    """The first microsecond whose names come after this one. Other writers' names tell the second only."""
    match = re.search(r"tfevents\.(\d{10})\.(?:(\d{6})\..*torch_debugger)?", name)
    if match is None:
        return 0
    seconds, rest_us = match.groups()
    return int(seconds) * 1_000_000 + (1_000_000 if rest_us is None else int(rest_us) + 1)


_RANK_IN_NAME = re.compile(r"\.rank(\d{1,9})(?=\.|$)")
_WRITER_IN_NAME = re.compile(r"\.([A-Za-z0-9_-]+)\.(\d{1,9})\.torch_debugger")


def rank_in_name(path: str) -> int | None:
    """Of the process that wrote this file; None where its name does not say."""
    match = _RANK_IN_NAME.search(os.path.basename(path))
    return int(match[1]) if match is not None else None


def writer_in_name(path: str) -> tuple[str, int] | None:
    """The host and the process that a file of ours is of."""
    match = _WRITER_IN_NAME.search(os.path.basename(path))
    return (match[1], int(match[2])) if match is not None else None


def host_in_names() -> str:
    """This machine, as the names of its files have it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", socket.gethostname())


def rank_of_process() -> int | None:
    """As torchrun and torch.distributed's env:// have it; None for a program of one process."""
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return int(rank) if rank.isdecimal() and world.isdecimal() and int(world) > 1 else None


def write_all(file: io.FileIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def is_deleted(file: io.FileIO) -> bool:
    return os.fstat(file.fileno()).st_nlink == 0


def free_bytes(file: io.FileIO) -> tuple[int, int]:
    """Of the disk that the file is on, and all that it has; without end where the system does not say."""
    if not hasattr(os, "fstatvfs"):
        return sys.maxsize, sys.maxsize
    disk = os.fstatvfs(file.fileno())
    return disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize


MARK = "tfevents"  # in the name of every event file, whoever wrote it


def event_files(folder: str | os.PathLike[str]) -> list[str]:
    """The paths of a folder's event files, in the order of their names, which begin with their time."""
    try:
        return sorted(entry.path for entry in os.scandir(folder) if event_file_state(entry) is not None)
    except OSError:
        return []


def event_file_state(entry: os.DirEntry[str]) -> os.stat_result | None:
    """None for what is no event file, or is gone."""
    try:
        return entry.stat() if MARK in entry.name and entry.is_file() else None
    except OSError:
        return None


# What the names of event files tell.
_NAME = re.compile(r"tfevents\.\d+(?:\.\d+)?\.(.*)", re.DOTALL)
_NUMBERED = re.compile(r"(.+\.\d+)\.\d+\D*", re.DOTALL)  # HOST.PROCESS.NUMBER, and a suffix


def writer_in(name: str) -> str:
    """The machine and the process that wrote a file of this name, as far as it says so: files of one writer
    agree in it."""
    found = _NAME.search(name)
    if found is None:
        return ""
    numbered = _NUMBERED.fullmatch(found[1])
    return numbered[1] if numbered else found[1]


# File descriptors of ours inside somebody else's program.
#
# A script may close every descriptor it does not know (daemons do) and then open files of its own, which get the same
# numbers. Whoever reads or writes by number must look first whose it is now.
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
