"""A function mode of ours on torch's stack of them, put in and taken out without disturbing the others.

`with torch.device(...)` takes off the topmost when it ends, and `torch.set_default_device` the lowest: ours
is always right above the default device, below everything else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch.overrides import TorchFunctionMode


def put_in(mode: TorchFunctionMode) -> None:
    others = _take_all()
    context = getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None)
    default = getattr(context, "device_context", None)
    at = 1 if others and others[0] is default else 0
    _put_back([*others[:at], mode, *others[at:]])


def take_out(mode: TorchFunctionMode) -> bool:
    """Whether it was there."""
    others = _take_all()
    rest = [other for other in others if other is not mode]
    _put_back(rest)
    return len(rest) < len(others)


@contextlib.contextmanager
def without(mode: TorchFunctionMode) -> Iterator[None]:
    if not take_out(mode):
        yield
        return
    try:
        yield
    finally:
        put_in(mode)


def _take_all() -> list[TorchFunctionMode]:
    """The lowest first."""
    taken = [torch._C._pop_torch_function_stack() for _ in range(torch._C._len_torch_function_stack())]
    return taken[::-1]


def _put_back(modes: list[TorchFunctionMode]) -> None:
    for mode in modes:
        torch._C._push_on_torch_function_stack(mode)
