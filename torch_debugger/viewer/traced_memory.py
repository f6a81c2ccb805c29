"""Memory over the time of a profiler's trace, in the form in which the page shows memory over steps."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import TracedMemory


def traced_memory(run: Run) -> dict[str, Any] | None:
    found = [record for record in run.records(TracedMemory) if isinstance(record, TracedMemory)]
    if not found or not found[-1].moments_ms:
        return None
    last = found[-1]
    return {
        "steps": list(last.moments_ms),
        "unit": "ms",
        "categories": {f"given out on {device}": list(used) for device, used in last.used_bytes.items()},
        "peak": {f"given out on {device}": peak for device, peak in last.peak_bytes.items()},
    }
