"""Losses that were computed and never used: backward() on one of them would have reached a parameter."""

from __future__ import annotations

from collections import deque
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.anatomy.kinds import is_a

_NODES = 4000  # of one graph


def unspent_loss(frame: FrameType | None, parameters: list[torch.Tensor]) -> str:
    """The variable of a frame, one number with a graph, that leads to these parameters; "" if none does."""
    own = {id(parameter) for parameter in parameters}
    for name, value in locals_of(frame).items() if frame is not None else ():
        if is_a(value, torch.Tensor) and value.numel() == 1 and _leads_to(value.grad_fn, own):
            return name
    return ""


def _leads_to(root: Any, own: set[int]) -> bool:
    waiting, seen = deque([root] if root is not None else []), {root}
    while waiting and len(seen) < _NODES:
        node = waiting.popleft()
        if id(getattr(node, "variable", None)) in own:
            return True
        new = {operand for operand, _ in node.next_functions if operand is not None} - seen
        seen |= new
        waiting += new
    return False
