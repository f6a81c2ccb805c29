"""How much threads and processes compute, and how long they stand in line for a core. Known on Linux alone."""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

from torch_debugger.kernel_files import kernel_text

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_MOST = 64


class CoreUse(NamedTuple):
    cpu_s: float
    queued_s: float  # ready to compute while every core was busy
    threads: int = 1


def usable_cores() -> int:
    """That this process may use at once: a container may allow fewer than the machine has."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = kernel_text("/sys/fs/cgroup/cpu.max").strip().partition(" ")
    if not quota:
        quota = kernel_text(
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"
        ).strip()  # of older systems; -1 without a limit
        period = kernel_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us").strip()
    if not quota.isdecimal() or not period.isdecimal() or not int(period):
        return allowed
    return max(1, min(allowed, math.ceil(int(quota) / int(period))))


def of_this_thread() -> CoreUse | None:
    return _scheduled("thread-self")


def of_workers(iterator: Any) -> dict[int, CoreUse]:
    """Those that load for a DataLoader, by process id; empty where it has none or the system does not tell."""
    found = {}
    for worker in list(getattr(iterator, "_workers", ()))[:_MOST]:
        use = _of_process(worker.pid) if worker.pid else None
        if use is not None:
            found[worker.pid] = use
    return found


def _of_process(pid: int) -> CoreUse | None:
    main = _scheduled(str(pid))
    text = kernel_text(f"/proc/{pid}/stat")
    if main is None or not text:
        return None
    # The name of the program, in parentheses, may hold anything: count from behind it.
    numbers = text.rpartition(")")[2].split()
    return CoreUse((int(numbers[11]) + int(numbers[12])) / _TICKS, main.queued_s, int(numbers[17]))


def _scheduled(who: str) -> CoreUse | None:
    numbers = kernel_text(f"/proc/{who}/schedstat").split()
    return CoreUse(int(numbers[0]) / 1e9, int(numbers[1]) / 1e9) if len(numbers) >= 2 else None
