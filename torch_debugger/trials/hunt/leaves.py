"""The leaves of a graph, whose gradients a backward makes; and whether something is finite, in one look."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from torch_debugger.trials.hunt.states import FINITE, state_of


def leaves_of(tensors: Iterable[Any]) -> tuple[list[torch.Tensor], bool]:
    """The variables that gradients are added to; and whether a part of the graph is hidden until backward."""
    held = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)]
    waiting: list[Any] = [tensor.grad_fn for tensor in held if tensor.grad_fn is not None]
    found = [tensor for tensor in held if tensor.grad_fn is None and tensor.requires_grad]
    seen, hidden = set(waiting), False
    while waiting:
        node = waiting.pop()
        kind = type(node).__name__
        if kind == "AccumulateGrad":
            found.append(node.variable)
            continue
        hidden = hidden or kind == "CheckpointFunctionBackward"
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return found, hidden


def all_finite(tensors: Sequence[torch.Tensor]) -> bool:
    """One look for each device; a norm that overflows may say no where all are finite."""
    groups: dict[tuple[torch.device, torch.dtype], list[torch.Tensor]] = {}
    for tensor in tensors:
        if tensor.layout is torch.strided and (tensor.is_floating_point() or tensor.is_complex()):
            groups.setdefault((tensor.device, tensor.dtype), []).append(tensor)
    totals: dict[torch.device, torch.Tensor] = {}
    with torch.no_grad():
        for (device, _), group in groups.items():
            total = torch.stack(torch._foreach_norm(group)).sum(dtype=torch.float32)
            totals[device] = totals[device] + total if device in totals else total
        return all(math.isfinite(total.item()) for total in totals.values())


def bad_ones(tensors: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, str]]:
    """Exactly those that hold a NaN or Inf, and which of both."""
    states = [(tensor, state_of(tensor)) for tensor in tensors]
    return [(tensor, state) for tensor, state in states if state != FINITE]
