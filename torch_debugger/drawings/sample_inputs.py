"""Inputs made from sizes alone, as torchinfo takes them; none of the user's random numbers is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.graph_calls import Call
from torch_debugger.anatomy.summing.attempts import Sizes, read_sizes


def sample_inputs(model: nn.Module, input_size: Any) -> Iterator[Call]:
    """First numbers as images have them, then indices as words have them."""
    sizes = read_sizes(input_size)
    like = next((value for value in model.parameters() if value.is_floating_point()), torch.empty(0))
    numbers = torch.Generator().manual_seed(0)
    yield _call(sizes, lambda size: torch.rand(size, generator=numbers).to(like.device, like.dtype))
    yield _call(sizes, lambda size: torch.zeros(size, dtype=torch.long, device=like.device))


def _call(sizes: Sizes, made: Callable[[tuple[int, ...]], torch.Tensor]) -> Call:
    if isinstance(sizes, dict):
        return Call((), {name: made(size) for name, size in sizes.items()})
    return Call(tuple(made(size) for size in sizes), {})
