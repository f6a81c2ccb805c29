"""The autograd graph as evidence: what lies between a loss and the model's parameters.

Read on deep steps, before backward frees it. No op is patched; saved tensors are looked at
only while no saved-tensor hooks are in use (reading one of a checkpointed block would run it).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.anatomy.graph_nodes import saved
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.records import LocalTensor, Rectifier
from torch_debugger.stats.unseen import no_grad


@dataclass(frozen=True)
class RectifierLook:
    """A ReLU met in the graph; `counts` is [dead units, outputs that are not zero], on its device."""

    source: str
    units: int
    samples: int
    counts: torch.Tensor

    def record(self, dead: float, alive: float, step: int) -> Rectifier:
        zeros = 1.0 - alive / (self.units * self.samples)
        name = f"relu after {self.source}"
        return Rectifier(name, self.source, self.units, int(dead), zeros, self.samples, step)


def read_rectifiers(root: Any, names: dict[int, str], limit: int = 4000) -> list[RectifierLook]:
    """Every ReLU on the way from the loss, and how many of its units gave anything."""
    found: list[RectifierLook] = []
    seen: set[Any] = {root}
    queue = deque([root])
    while queue and len(seen) < limit:
        node = queue.popleft()
        look = _look_at_relu(node, names) if node.name() == "ReluBackward0" else None
        if look is not None:
            found.append(look)
        for operand, _ in node.next_functions:
            if operand is not None and operand not in seen:
                seen.add(operand)
                queue.append(operand)
    return found[::-1]


@no_grad()
def _look_at_relu(node: Any, names: dict[int, str]) -> RectifierLook | None:
    result = saved(node, "_saved_result")
    source = feeding_layer(node, names) if result is not None else None
    if source is None or result.dim() < 2 or result.layout is not torch.strided or not result.numel():
        return None
    # Units are channels of images, features of everything else; the rest is samples.
    unit_dim = 1 if result.dim() >= 4 or (result.dim() == 3 and _is_convolution(node)) else result.dim() - 1
    # By the highest output, which is no less than 0: counting per unit would take nine bytes an element.
    highest = result.amax([dim for dim in range(result.dim()) if dim != unit_dim])
    units = highest.numel()
    counts = torch.stack(((highest == 0).sum(), torch.count_nonzero(result)))
    return RectifierLook(source, units, result.numel() // units, counts)


def feeding_layer(node: Any, names: dict[int, str], depth: int = 6) -> str | None:
    """The module path of the nearest parameter upstream: net.fc1 for net.fc1.weight."""
    queue, seen = deque([(node, 0)]), {node}
    while queue:
        current, distance = queue.popleft()
        for operand, _ in current.next_functions:
            if operand is None or operand in seen:
                continue
            seen.add(operand)
            variable = getattr(operand, "variable", None)
            if variable is not None and id(variable) in names:
                return names[id(variable)].rsplit(".", 1)[0]
            if distance < depth:
                queue.append((operand, distance + 1))
    return None


def _is_convolution(node: Any) -> bool:
    feeders = [operand.name() for operand, _ in node.next_functions if operand is not None]
    return any("Convolution" in name or "BatchNorm" in name for name in feeders)


def local_tensors(frame: FrameType | None, limit: int = 24) -> tuple[LocalTensor, ...]:
    """The tensors among a frame's variables, by name."""
    if frame is None:
        return ()
    found: list[LocalTensor] = []
    for name, value in locals_of(frame).items():
        if is_a(value, torch.Tensor) and len(found) < limit:
            found.append(describe_local(name, value))
    return tuple(found)


def describe_local(name: str, value: torch.Tensor) -> LocalTensor:
    dtype = str(value.dtype).removeprefix("torch.")
    return LocalTensor(name, tuple(value.shape), dtype, str(value.device), value.requires_grad)
