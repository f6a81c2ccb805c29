"""How a run stands: ended as it says itself, or told from its process and its files."""

from __future__ import annotations

import re
import socket
import time

import psutil

from torch_debugger.archive.facts import Facts

ENDED = ("finished", "crashed", "stopped", "killed")
_SILENCE_S = 120.0  # of a process on another machine, after which nobody can tell


def tell_status(facts: Facts, outcome: str | None, file_names: list[str], changed: float) -> str:
    """finished | crashed | stopped | running | killed | unknown (a log of another tool, or out of reach)."""
    if outcome is not None:
        return outcome if outcome in ENDED else "stopped"
    if facts.end is not None:
        return facts.end.outcome
    if facts.run is None:
        return "unknown"
    if any(f".{_host_here()}." in name for name in file_names):
        return "running" if _lives(facts.run.pid, facts.run.started) else "killed"
    return "running" if time.time() - changed < _SILENCE_S else "unknown"


def _host_here() -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", socket.gethostname())


def _lives(pid: int, started: float) -> bool:
    """The process itself, not a later one with its number."""
    try:
        process = psutil.Process(pid)
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= started + 1.0)
    except (psutil.Error, ValueError, OverflowError):
        return False
