"""A fork that is sealed: nothing that the user's code does in it can be seen outside of it."""

from __future__ import annotations

import os
import resource
import sys
from typing import Any

from torch_debugger.anatomy.forked import result_fd
from torch_debugger.anatomy.shared_memory import stop_sharing
from torch_debugger.anatomy.system_calls import WRITING, refuse_what_reaches_outside

_TIME_LIMIT_S = 30  # of computing
_MORE_MEMORY_BYTES = 2 << 30

_REFUSED = (
    "os.", "shutil.", "subprocess.", "socket.", "sqlite3.connect", "ftplib.", "smtplib.", "http.", "urllib.",
    "tempfile.", "webbrowser.", "pty.",
)  # fmt: skip
_ALLOWED = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr")


def seal() -> None:
    """For good, in a fork. Open files lead nowhere from now on, for a position in a file and a connection are
    shared with the training; and what would change something outside is refused."""
    _allow_no_more_than(_TIME_LIMIT_S, _MORE_MEMORY_BYTES)
    stop_sharing()
    kept, nowhere = result_fd(), os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number not in (kept, nowhere) and _is_open(number):
            os.dup2(nowhere, number)
    sys.addaudithook(_refuse)
    refuse_what_reaches_outside()


def _allow_no_more_than(seconds: int, more_bytes: int) -> None:
    """Also where time limits by signals are blocked, and where the lines ahead ask for much memory."""
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    for limit, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, used + more_bytes)):
        highest = resource.getrlimit(limit)[1]
        most = most if highest == resource.RLIM_INFINITY else min(most, highest)
        resource.setrlimit(limit, (most, highest))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:  # the folder that was listed just now
        return False
    return True


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 else 0
        if isinstance(flags, int) and flags & WRITING and str(arguments[0]) != os.devnull:
            raise PermissionError("a fork writes no files")
    elif event.startswith(_REFUSED) and event not in _ALLOWED:
        raise PermissionError(f"a fork does nothing outside of itself: {event}")
