"""The weights of torch's quantized layers, which are no parameters: packed for the machine they run on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

_ROOM = "torch.ao.nn."


def is_packed(module: nn.Module) -> bool:
    return type(module).__module__.startswith(_ROOM) and any(True for _ in packed_weights(module))


def packed_weights(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """By name; they cannot be trained."""
    if not type(module).__module__.startswith(_ROOM):
        return
    for name in ("weight", "bias"):
        for way, value in _unpacked(module, name):
            if isinstance(value, torch.Tensor):
                yield way, value.detach()


def _unpacked(module: Any, name: str) -> list[tuple[str, Any]]:
    """Of a Linear or a convolution by a method of that name, of a recurrent one all in a dictionary."""
    several = getattr(module, f"get_{name}", None)
    if callable(several):
        return list(several().items())
    one = getattr(module, name, None)
    return [(name, one())] if callable(one) else []
