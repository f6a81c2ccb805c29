"""Variables of the user's that hold tensors with an autograd graph: lists of losses, sums over steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.anatomy.user_variables import variables_in_reach

_LONGEST = 512  # additions counted in the graph of a sum


@dataclass(frozen=True)
class Hoard:
    name: str
    count: int
    oldest: torch.Tensor


def hoards(frame: FrameType | None) -> Iterator[Hoard]:
    """Containers among the user's variables whose first and last entries both hold a graph."""
    for name, value in variables_in_reach(frame):
        if type(value) in (list, deque) and len(value) > 1:
            oldest, newest = first_tensor(value[0]), first_tensor(value[-1])
            if oldest is not None and _has_graph(oldest) and _has_graph(newest):
                yield Hoard(name, len(value), oldest)


def sums(frame: FrameType | None, loss: torch.Tensor) -> Iterator[Hoard]:
    """Scalars made by adding and adding; the loss at hand may be a sum of its own parts."""
    for name, value in variables_in_reach(frame):
        if isinstance(value, torch.Tensor) and value is not loss and value.numel() == 1 and _has_graph(value):
            count = _additions(value.grad_fn)
            if count > 1:
                yield Hoard(name, count, value)


def _has_graph(value: torch.Tensor | None) -> bool:
    return value is not None and value.grad_fn is not None


def _additions(node: Any) -> int:
    count = 0
    while node is not None and node.name().startswith("AddBackward") and count < _LONGEST:
        count += 1
        operands = [operand for operand, _ in node.next_functions if operand is not None]
        node = next((operand for operand in operands if operand.name().startswith("AddBackward")), None)
    return count
