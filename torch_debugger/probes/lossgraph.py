"""The autograd graph as evidence: what lies between a loss and the model's parameters.

Read on deep steps, before backward frees it. No op is patched; saved tensors are looked at
only while no saved-tensor hooks are in use (reading one of a checkpointed block would run it).
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.records import GraphNode, LocalTensor, Rectifier

_NUMBERED = re.compile(r"Backward\d*$")
_SCALARS = ("_saved_dim", "_saved_reduction", "_saved_ignore_index", "_saved_alpha", "_saved_keepdim")
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def read_nodes(root: Any, names: dict[int, str], limit: int = 64) -> tuple[tuple[GraphNode, ...], bool]:
    """The nodes nearest to `root` (a loss's grad_fn), breadth first; True when there were more."""
    order: dict[Any, int] = {root: 0}
    queue = deque([root])
    nodes: list[tuple[Any, list[Any]]] = []
    while queue and len(nodes) < limit:
        node = queue.popleft()
        operands = [operand for operand, _ in node.next_functions]
        nodes.append((node, operands))
        for operand in operands:
            if operand is not None and operand not in order:
                order[operand] = len(order)
                queue.append(operand)
    kept = len(nodes)
    found = tuple(_describe(node, operands, order, kept, names) for node, operands in nodes)
    return found, bool(queue)


def _describe(
    node: Any, operands: list[Any], order: dict[Any, int], kept: int, names: dict[int, str]
) -> GraphNode:
    # An operand beyond the limit keeps its number: it exists, but was not read.
    inputs = tuple(None if operand is None else order[operand] for operand in operands)
    variable = getattr(node, "variable", None)
    parameter = names.get(id(variable), "") if variable is not None else None
    return GraphNode(_NUMBERED.sub("", node.name()), _shape(node), inputs, parameter, _saved_scalars(node))


def _shape(node: Any) -> tuple[int, ...]:
    """The shape of what the op made, from the metadata of the gradient it expects."""
    metadata = getattr(node, "_input_metadata", None)
    if metadata:
        return tuple(int(size) for size in metadata[0].shape)
    variable = getattr(node, "variable", None)
    return tuple(variable.shape) if variable is not None else ()


def saved(node: Any, name: str) -> Any:
    """What the forward saved in a node; None where it saved no such thing, or it is freed or overwritten."""
    try:
        return getattr(node, name, None)
    except RuntimeError:  # the user's own backward is about to say the same
        return None


def _saved_scalars(node: Any) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    for name in _SCALARS:
        value = saved(node, name)
        if name == "_saved_reduction" and isinstance(value, int):
            found["reduction"] = _REDUCTIONS.get(value, str(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            # autograd hands dim as an unsigned 64-bit number: -1 comes as 2**64 - 1
            found[name.removeprefix("_saved_")] = value - 2**64 if value > 2**63 else value
    return found


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


@torch.no_grad()
def _look_at_relu(node: Any, names: dict[int, str]) -> RectifierLook | None:
    result = saved(node, "_saved_result")
    source = _feeding_layer(node, names) if result is not None else None
    if source is None or result.dim() < 2 or result.layout is not torch.strided or not result.numel():
        return None
    # Units are channels of images, features of everything else; the rest is samples.
    unit_dim = 1 if result.dim() >= 4 or (result.dim() == 3 and _is_convolution(node)) else result.dim() - 1
    # By the highest output, which is no less than 0: counting per unit would take nine bytes an element.
    highest = result.amax([dim for dim in range(result.dim()) if dim != unit_dim])
    units = highest.numel()
    counts = torch.stack(((highest == 0).sum(), torch.count_nonzero(result)))
    return RectifierLook(source, units, result.numel() // units, counts)


def _feeding_layer(node: Any, names: dict[int, str]) -> str | None:
    """The module path of the nearest parameter upstream: net.fc1 for net.fc1.weight."""
    queue, seen = deque([(node, 0)]), {node}
    while queue:
        current, depth = queue.popleft()
        for operand, _ in current.next_functions:
            if operand is None or operand in seen:
                continue
            seen.add(operand)
            variable = getattr(operand, "variable", None)
            if variable is not None and id(variable) in names:
                return names[id(variable)].rsplit(".", 1)[0]
            if depth < 6:
                queue.append((operand, depth + 1))
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
        if isinstance(value, torch.Tensor) and len(found) < limit:
            found.append(describe_local(name, value))
    return tuple(found)


def describe_local(name: str, value: torch.Tensor) -> LocalTensor:
    dtype = str(value.dtype).removeprefix("torch.")
    return LocalTensor(name, tuple(value.shape), dtype, str(value.device), value.requires_grad)
