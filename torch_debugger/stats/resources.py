"""Memory of this process and of its accelerator."""

from __future__ import annotations

import math
import os
import re
import resource
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import psutil
import torch

from torch_debugger.records import MemoryFact
from torch_debugger.system.files import kernel_text


def measure_memory(step: int) -> MemoryFact:
    # Not by psutil where it can be helped: the `open` that it calls may be the script's, and so may be the module
    # that it finds under its own name.
    pages = kernel_text("/proc/self/statm").split()
    on_linux = bool(pages)
    resident = int(pages[1]) * resource.getpagesize() if on_linux else int(psutil.Process().memory_info().rss)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak_bytes = peak if sys.platform == "darwin" else peak * 1024
    used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return MemoryFact(
        resident_bytes=resident,
        peak_bytes=max(peak_bytes, resident),  # the kernel's two counts may differ by a few pages
        device_bytes=torch.cuda.memory_allocated() if used else 0,
        device_peak_bytes=torch.cuda.max_memory_allocated() if used else 0,
        step=step,
    )


def host_memory() -> tuple[int, int]:
    """All of it, and what can be had without swapping."""
    lines = (line.split() for line in kernel_text("/proc/meminfo").splitlines())
    sizes = {line[0]: int(line[1]) * 1024 for line in lines if len(line) > 1}
    if not {"MemTotal:", "MemAvailable:"} <= sizes.keys():  # not Linux
        memory = psutil.virtual_memory()
        return memory.total, memory.available
    return sizes["MemTotal:"], sizes["MemAvailable:"]


@dataclass(frozen=True)
class DeviceCounts:
    """What torch's allocator and the driver say of a CUDA device; zeros elsewhere."""

    allocated_bytes: int = 0
    peak_bytes: int = 0
    cache_bytes: int = 0
    other_bytes: int = 0  # the context of CUDA itself among them
    total_bytes: int = 0


def count_device(device: torch.device) -> DeviceCounts:
    """Asks counters of the host: nothing waits for the device."""
    if device.type != "cuda":
        return DeviceCounts()
    stats = torch.cuda.memory_stats_as_nested_dict(device)
    allocated, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]["current"]
    free, total = torch.cuda.mem_get_info(device)
    return DeviceCounts(
        allocated_bytes=allocated["current"],
        peak_bytes=allocated["peak"],
        cache_bytes=reserved - allocated["current"],
        other_bytes=max(0, total - free - reserved),
        total_bytes=total,
    )


def free_bytes(device: torch.device) -> int:
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else host_memory()[1]


# How much memory this process shares with no other. Known on Linux alone.
_LINE = re.compile(r"^(Rss|Private_Dirty|Swap): +(\d+) kB$", re.MULTILINE)


class OwnMemory(NamedTuple):
    own_bytes: int  # written by it; pages of files that are only read can be given back at any time
    resident_bytes: int  # what it shares included, such as pages of the process that it was forked from


def own_memory() -> OwnMemory | None:
    """Takes 10 ms for 300 MB, most of them without Python's lock."""
    found = _LINE.findall(kernel_text("/proc/self/smaps_rollup"))
    sizes = {name: 1024 * int(size) for name, size in found}
    resident = sizes.pop("Rss", 0)
    return OwnMemory(sum(sizes.values()), resident) if resident else None


# How much threads and processes compute, and how long they stand in line for a core. Known on Linux alone.
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
        quota = kernel_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").strip()  # of older systems; -1 without a limit
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
        main = _scheduled(str(worker.pid)) if worker.pid else None
        text = kernel_text(f"/proc/{worker.pid}/stat") if main is not None else ""
        if main is not None and text:
            # The name of the program, in parentheses, may hold anything: count from behind it.
            numbers = text.rpartition(")")[2].split()
            cpu_s = (int(numbers[11]) + int(numbers[12])) / _TICKS
            found[worker.pid] = CoreUse(cpu_s, main.queued_s, int(numbers[17]))
    return found


def _scheduled(who: str) -> CoreUse | None:
    numbers = kernel_text(f"/proc/{who}/schedstat").split()
    return CoreUse(int(numbers[0]) / 1e9, int(numbers[1]) / 1e9) if len(numbers) >= 2 else None
