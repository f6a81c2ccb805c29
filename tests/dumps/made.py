"""Snapshots as torch.cuda.memory._snapshot() writes them, made by hand, with a leak and a peak."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

MB = 1 << 20


def frame(file: str, line: int, name: str = "f") -> dict[str, Any]:
    return {"filename": file, "line": line, "name": name}


def stack(line: int) -> list[dict[str, Any]]:
    """Innermost first, as torch has them: C++, torch, the user's line, the runner of the script."""
    return [
        frame("??", 0, "at::empty"),
        frame("/env/lib/python3.11/site-packages/torch/nn/modules/linear.py", 116, "forward"),
        frame("/home/a/train.py", line, "step"),
        frame("/home/a/main.py", 3, "<module>"),
    ]


def block(address: int, size: int, frames: list[Any] | None = None, state: str = "active_allocated") -> Any:
    told = {"address": address, "size": size, "requested_size": size - 8, "state": state}
    return {**told, "frames": frames or []}


def segment(address: int, blocks: list[Any], device: int = 0) -> dict[str, Any]:
    total = sum(each["size"] for each in blocks)
    return {
        "device": device, "address": address, "total_size": total, "allocated_size": total, "stream": 0,
        "segment_type": "large", "segment_pool_id": (0, 0), "blocks": blocks, "frames": [],
    }  # fmt: skip


def event(action: str, address: int, size: int, frames: list[Any] | None = None) -> dict[str, Any]:
    return {"action": action, "addr": address, "size": size, "frames": frames or [], "stream": 0, "time_us": 1}


def leaking() -> dict[str, Any]:
    """train.py:31 leaks 4 blocks of 4 MB; train.py:9 made 2 MB before the history; train.py:20 is the peak: it
    takes 64 MB and gives them back. In use at the end: 18 MB, at the peak 82 MB less what leaked afterwards."""
    kept = [block(0x1000 * place, 4 * MB, stack(31)) for place in range(1, 5)]
    weights = block(0x9000, 2 * MB, stack(9))
    free = block(0xF000, 46 * MB, state="inactive")
    trace = [
        event("segment_alloc", 0x1000, 64 * MB),
        event("alloc", 0x1000, 4 * MB - 8, stack(31)),
        event("alloc", 0x2000, 4 * MB - 8, stack(31)),
        event("alloc", 0xF000, 64 * MB, stack(20)),
        event("free_requested", 0xF000, 64 * MB),
        event("free_completed", 0xF000, 64 * MB),
        event("free_requested", 0xA000, 1 * MB),  # made before the history began
        event("free_completed", 0xA000, 1 * MB),
        event("alloc", 0x3000, 4 * MB - 8, stack(31)),
        event("alloc", 0x4000, 4 * MB - 8, stack(31)),
    ]
    return {
        "segments": [segment(0x1000, [*kept, free]), segment(0x9000, [weights])],
        "device_traces": [trace],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1},
    }


def write(path: Path, value: Any) -> Path:
    path.write_bytes(pickle.dumps(value))
    return path
