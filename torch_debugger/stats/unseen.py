"""Our own arithmetic, out of sight of the user's modes and tensor classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from torch_debugger.stats.shards import ThisRankOnly, shards_expected


def unseen(function: Callable[..., Any], *arguments: Any) -> Any:
    """A mode or a tensor class of the user's that counts or logs operations must not meet ours."""
    with torch._C.DisableTorchFunction():
        if shards_expected():
            return _on_this_rank(function, *arguments)
        if torch._C._len_torch_dispatch_stack():
            with _disable_current_modes():
                return function(*arguments)
        return function(*arguments)


def _on_this_rank(function: Callable[..., Any], *arguments: Any) -> Any:
    with _disable_current_modes(), ThisRankOnly():  # type: ignore[no-untyped-call]
        return function(*arguments)
