"""The processes that load for a DataLoader: how much they have computed, and with how many threads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_MOST = 64


class WorkerUse(NamedTuple):
    cpu_s: float
    threads: int


def use_of(iterator: Any) -> dict[int, WorkerUse]:
    """By process id; empty where the iterator has no workers, or the system does not tell (it is not Linux)."""
    found = {}
    for worker in list(getattr(iterator, "_workers", ()))[:_MOST]:
        use = _read(worker.pid) if worker.pid else None
        if use is not None:
            found[worker.pid] = use
    return found


def _read(pid: int) -> WorkerUse | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended, or there is no /proc
        return None
    # The name of the program, in parentheses, may hold anything: count from behind it.
    numbers = text.rpartition(")")[2].split()
    return WorkerUse((int(numbers[11]) + int(numbers[12])) / _TICKS, int(numbers[17]))
