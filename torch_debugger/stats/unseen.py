"""Our own arithmetic, out of sight of the user's modes and tensor classes."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from torch_debugger.foreign_paths import is_user_path
from torch_debugger.stats.shards import OutOfReachError, ThisRankOnly, shards_expected

# As they are before the script's first line: it may put others in their place, and count the calls.
item_of = torch._C.TensorBase.item


class no_grad(torch.no_grad):  # noqa: N801 - it is one
    __enter__ = torch.no_grad.__enter__
    __exit__ = torch.no_grad.__exit__


_leaves_classes = False  # from the first tensor on whose class is the script's and has a __torch_dispatch__


def leave_classes_of(tensors: Iterable[object]) -> bool:
    """From the next look on no operation of ours reaches a tensor whose class runs the script's code at each.
    Whether one of these is the first such tensor."""
    global _leaves_classes
    if _leaves_classes:
        return False
    _leaves_classes = any(_runs_the_scripts_code(type(each)) for each in tensors)
    return _leaves_classes


def _runs_the_scripts_code(kind: type) -> bool:
    if kind is torch.Tensor or kind is torch.nn.Parameter or not issubclass(kind, torch.Tensor):
        return False
    own = next(each for each in kind.__mro__ if "__torch_dispatch__" in vars(each))
    file = getattr(sys.modules.get(own.__module__), "__file__", None)
    return own is not torch.Tensor and (file is None or is_user_path(file))


class _ClassesLeftAlone(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(map(_runs_the_scripts_code, types)):
            raise OutOfReachError(f"{func} would run the script's own code")
        return func(*args, **(kwargs or {}))


def unseen(function: Callable[..., Any], *arguments: Any) -> Any:
    """A mode or a tensor class of the user's that counts or logs operations must not meet ours."""
    with torch._C.DisableTorchFunction():
        if shards_expected():
            return _on_this_rank(function, *arguments)
        if _leaves_classes:
            with _disable_current_modes(), _ClassesLeftAlone():  # type: ignore[no-untyped-call]
                return function(*arguments)
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
