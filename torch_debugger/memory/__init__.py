"""What is in memory now, by line, module and variable: `torch_debugger.memory.snapshot().stats()`.

    import torch_debugger.memory

    with torch_debugger.memory.record():                 # notes the line of every allocation
        train(model)
        print(torch_debugger.memory.snapshot().stats())  # hot spots, the largest first

Names are loaded on first use: reading a file needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from torch_debugger import same_random_numbers

if TYPE_CHECKING:
    from torch_debugger.memory.recording import record, snapshot
    from torch_debugger.memory.snapshots import Snapshot, compare, load

_HOMES = {"record": "recording", "Snapshot": "snapshots", "compare": "snapshots", "load": "snapshots"}
_HOMES |= {"snapshot": "recording"}

__all__ = ["Snapshot", "compare", "load", "record", "snapshot"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'torch_debugger.memory' has no attribute {name!r}")
    with same_random_numbers():
        home = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
