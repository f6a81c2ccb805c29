"""What a loss depends on: the leaves of its graph; and the losses within the caller's reach."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.anatomy.graph_nodes import walk_nodes

_MOST_NODES = 50_000


class Losses:
    """Numbers with a graph, by their names, and the parameters each one depends on."""

    def __init__(self, found: dict[str, torch.Tensor], parameters: set[int]) -> None:
        leaves = {name: {id(leaf) for leaf in leaves_of(loss)} for name, loss in found.items()}
        self._leaves = {name: ids for name, ids in leaves.items() if ids & parameters}

    @property
    def named(self) -> str:
        return " and ".join(f"`{name}`" for name in self._leaves)

    def reaching(self, parameter: torch.Tensor) -> str:
        return next((name for name, ids in self._leaves.items() if id(parameter) in ids), "")


def losses_in(frame: FrameType | None) -> dict[str, torch.Tensor]:
    """The variables of a frame that are one number and have a graph."""
    held = locals_of(frame) if frame is not None else {}
    return {name: value for name, value in held.items() if _is_loss(value)}


def _is_loss(value: Any) -> bool:
    return type(value) is torch.Tensor and value.grad_fn is not None and value.numel() == 1


def leaves_of(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Read from the nodes, which stay when backward() has freed what they saved."""
    nodes = walk_nodes(tensor.grad_fn, _MOST_NODES)[0] if tensor.grad_fn is not None else []
    found = (getattr(node, "variable", None) for node in nodes)
    return [leaf for leaf in found if leaf is not None]
