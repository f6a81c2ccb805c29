"""Find out why a PyTorch training run goes wrong.

    torch-debugger run train.py

Names are loaded on first use: importing this package imports neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from torch_debugger._version import __version__

if TYPE_CHECKING:
    from torch_debugger.debugger import Debugger, watch

_HOMES = {"Debugger": "torch_debugger.debugger", "watch": "torch_debugger.debugger"}

__all__ = ["Debugger", "__version__", "watch"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'torch_debugger' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
