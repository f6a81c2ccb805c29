"""Memory of this process and of its accelerator."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass

import psutil
import torch

from torch_debugger.kernel_files import kernel_text
from torch_debugger.records import MemoryFact


def measure_memory(step: int) -> MemoryFact:
    resident = _resident_bytes()
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


# Not by psutil where it can be helped: the `open` that it calls may be the script's, and so may be the module
# that it finds under its own name.


def _resident_bytes() -> int:
    pages = kernel_text("/proc/self/statm").split()
    if not pages:  # not Linux
        return int(psutil.Process().memory_info().rss)
    return int(pages[1]) * resource.getpagesize()


def host_memory() -> tuple[int, int]:
    """All of it, and what can be had without swapping."""
    lines = (line.split() for line in kernel_text("/proc/meminfo").splitlines())
    told = {line[0]: int(line[1]) * 1024 for line in lines if len(line) > 1}
    if not {"MemTotal:", "MemAvailable:"} <= told.keys():  # not Linux
        memory = psutil.virtual_memory()
        return memory.total, memory.available
    return told["MemTotal:"], told["MemAvailable:"]


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
