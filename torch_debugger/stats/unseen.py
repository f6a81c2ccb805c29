"""Our own arithmetic, out of sight of the user's modes and tensor classes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from torch_debugger.stats.shards import ThisRankOnly, shards_expected

# As they are before the script's first line: it may put others in their place, and count the calls.
item_of = torch._C.TensorBase.item


class no_grad(torch.no_grad):  # noqa: N801 - it is one
    __enter__ = torch.no_grad.__enter__
    __exit__ = torch.no_grad.__exit__


def unseen(function: Callable[..., Any], *arguments: Any) -> Any:
    """A mode or a tensor class of the user's that counts or logs operations must not meet ours."""
    with torch._C.DisableTorchFunction():
        if shards_expected():
            return _on_this_rank(function, *arguments)
        if torch._C._len_torch_dispatch_stack():
            with _disable_current_modes():
                return function(*arguments)
        return function(*arguments)


def same_state(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Of random generators, bytes of the CPU's memory; torch.equal would stand in the script's profile."""
    first, second = (ctypes.string_at(state.data_ptr(), state.nbytes) for state in (one, other))
    return first == second


def _on_this_rank(function: Callable[..., Any], *arguments: Any) -> Any:
    with _disable_current_modes(), ThisRankOnly():  # type: ignore[no-untyped-call]
        return function(*arguments)
