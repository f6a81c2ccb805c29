"""Memory of this process and of its accelerator."""

from __future__ import annotations

import resource
import sys

import psutil
import torch

from torch_debugger.records import MemoryFact


def measure_memory(step: int) -> MemoryFact:
    resident = psutil.Process().memory_info().rss
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


def free_bytes(device: torch.device) -> int:
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else psutil.virtual_memory().available
