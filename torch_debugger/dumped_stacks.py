"""Stacks that another process writes when a signal asks for them: by Python's faulthandler, in C, also while
the process holds Python's lock or waits for one that nobody will ever release."""

from __future__ import annotations

import os
import re

from torch_debugger.clocks import time
from torch_debugger.kernel_files import kernel_text

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
