"""Stacks that another process writes when a signal asks for them: by Python's faulthandler, in C, also while
the process holds Python's lock or waits for one that nobody will ever release."""

from __future__ import annotations

import os
import re
import sys
import time

_ANSWER_S = 1.0
_LOOK_EVERY_S = 0.02
_QUIET_LOOKS = 3  # without news: the answer is complete
_LARGEST_BYTES = 200_000
_LINE = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$')
_THREAD = re.compile(r"^(Current thread|Thread) 0x[0-9a-f]+")

Row = tuple[str, int, str]  # file, line, function


def ask(pid: int, number: int, fd: int) -> str:
    """What the process writes into the file; nothing where it has no handler for that signal, which would end
    it: a worker that was spawned, not forked, has not registered."""
    before = os.fstat(fd).st_size
    try:
        if not _has_handler(pid, number):
            return ""
        os.kill(pid, number)
    except OSError:
        return ""
    size, quiet, deadline = before, 0, time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline and (size == before or quiet < _QUIET_LOOKS):
        time.sleep(_LOOK_EVERY_S)
        now = os.fstat(fd).st_size
        quiet = quiet + 1 if now == size else 0
        size = now
    return os.pread(fd, min(size - before, _LARGEST_BYTES), before).decode(errors="replace")


def _has_handler(pid: int, number: int) -> bool:
    """Linux tells which signals a process catches, in bits; elsewhere the one who asks must know."""
    if sys.platform != "linux":
        return True
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        caught = next(line.split()[1] for line in status if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def first_thread(text: str) -> list[Row]:
    """Of the program's first thread, which stands last; outermost first."""
    threads: list[list[Row]] = []
    for line in text.splitlines():
        if _THREAD.match(line):
            threads.append([])
        elif (match := _LINE.match(line)) is not None and threads:
            threads[-1].append((match["file"], int(match["line"]), match["function"]))
    return threads[-1][::-1] if threads else []
