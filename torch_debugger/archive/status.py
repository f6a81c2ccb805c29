"""How a run stands: ended as it says itself, or told from its process and its files."""

from __future__ import annotations

import os
import re
import socket

import psutil

from torch_debugger.archive.facts import Facts
from torch_debugger.archive.judgements import Result
from torch_debugger.clocks import time
from torch_debugger.runlog.logfile import host_in_names

ENDED = ("finished", "crashed", "stopped", "killed")
_KILLED = (-9, 137)  # as subprocess and as shells say SIGKILL
_SILENCE_S = 120.0  # of a process on another machine, after which nobody can tell
_LONG_SILENCE_S = 600.0  # of a log that does not say how it ended, after which no more is expected
_GRACE_S = 2.0  # in which a writer may close one file and open the next


def tell_status(facts: Facts, result: Result | None, file_names: list[str], changed: float) -> str:
    """finished | crashed | stopped | running | killed | unknown (a log of another tool, or out of reach)."""
    if result is not None:
        outcome = "killed" if result.exit_code in _KILLED else result.outcome
        return outcome if outcome in ENDED else "stopped"
    if facts.end is not None:
        return facts.end.outcome if facts.end.outcome in ENDED else "unknown"
    if facts.run is None:
        return "unknown"
    if any(f".{host_in_names()}." in name for name in file_names):
        return "running" if _lives(facts.run.pid, facts.run.started) else "killed"
    return "running" if time.time() - changed < _SILENCE_S else "unknown"


def may_grow(paths: list[str], changed: float) -> bool:
    """Of a log that does not say how it ended: whether a writer on this machine still has one of these files
    open; where that cannot be told, whether something was written in the last ten minutes."""
    silent_s = time.time() - changed
    opened = [_is_open(path) for path in paths] or [None]
    return silent_s < _GRACE_S or True in opened or (None in opened and silent_s < _LONG_SILENCE_S)


def _is_open(path: str) -> bool | None:
    """In the process that the file's name says it is of; None where nobody can tell."""
    hosts = "|".join(map(re.escape, (host_in_names(), socket.gethostname())))
    writer = re.search(rf"\.(?:{hosts})\.(\d{{1,9}})\.", os.path.basename(path))
    try:
        files = psutil.Process(int(writer[1])).open_files() if writer is not None else None
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, OSError):  # of another user
        return None
    return None if files is None else os.path.realpath(path) in [file.path for file in files]


def _lives(pid: int, started: float) -> bool:
    """The process itself, not a later one with its number."""
    try:
        process = psutil.Process(pid)
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= started + 1.0)
    except (psutil.Error, ValueError, OverflowError, OSError):
        return False
