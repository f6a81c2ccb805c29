"""What the kernel tells in files, under /proc and /sys."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator

from torch_debugger.system.clocks import time


def kernel_text(path: str) -> str:
    """Empty where there is no such file. Not by open(): the script may have put a function of its own there."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return _nothing(error)
    parts = []
    try:
        while part := os.read(file, 1 << 16):
            parts.append(part)
    except OSError as error:  # a process may end while its file is read
        return _nothing(error)
    finally:
        os.close(file)
    return b"".join(parts).decode(errors="replace")


def _nothing(error: OSError) -> str:
    if error.errno is None:  # no answer of the system's: thrown in by another thread of the script's
        raise error
    return ""


# High numbers for our files in somebody else's program: its own get those that they would get without us.
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


# Stacks that another process writes when a signal asks for them: by Python's faulthandler, in C, also while the
# process holds Python's lock or waits for one that nobody will ever release.
FILE = "torch-debugger-stacks"  # in memory, its number is known to those who ask
_ANSWER_S = 1.0
_LOOK_EVERY_S = 0.02
_QUIET_LOOKS = 3  # without news: the answer is complete
_LARGEST_BYTES = 200_000
_LINE = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$')
_THREAD = re.compile(r"^(Current thread|Thread) 0x[0-9a-f]+")

Row = tuple[str, int, str]  # file, line, function


def ask(pid: int, number: int, fd: int) -> str:
    """What the process writes into its file of that number. Nothing where this very process would not, now: a
    worker that was spawned and a program that took its place by exec have no handler, and the signal would end
    them; a script that closes all files may have one of its own under that number."""
    if not is_file_of_stacks(pid, fd) or not has_handler(pid, number):
        return ""
    try:
        file = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDONLY)
    except OSError:
        return ""
    try:
        return _answer(pid, number, file)
    finally:
        os.close(file)


def is_file_of_stacks(pid: int, fd: int) -> bool:
    try:
        return f"memfd:{FILE}" in os.readlink(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return False


def has_handler(pid: int, number: int) -> bool:
    """Linux tells which signals a process catches, in bits. An exec forgets them all."""
    for line in kernel_text(f"/proc/{pid}/status").splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def _answer(pid: int, number: int, file: int) -> str:
    before = os.fstat(file).st_size
    try:
        os.kill(pid, number)
    except OSError:
        return ""
    size, quiet, deadline = before, 0, time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline and (size == before or quiet < _QUIET_LOOKS):
        time.sleep(_LOOK_EVERY_S)
        now = os.fstat(file).st_size
        quiet = quiet + 1 if now == size else 0
        size = now
    return os.pread(file, min(size - before, _LARGEST_BYTES), before).decode(errors="replace")


def first_thread(text: str) -> list[Row]:
    """Of the program's first thread, which stands last; outermost first."""
    threads: list[list[Row]] = []
    for line in text.splitlines():
        if _THREAD.match(line):
            threads.append([])
        elif (match := _LINE.match(line)) is not None and threads:
            threads[-1].append((match["file"], int(match["line"]), match["function"]))
    return threads[-1][::-1] if threads else []
