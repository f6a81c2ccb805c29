"""The autograd graph read node by node: what each op is, the shape it made, what it was made from."""

from __future__ import annotations

import math
import re
from collections import deque
from typing import Any

import torch

from torch_debugger.records import GraphNode
from torch_debugger.stats.unseen import item_of

_NUMBERED = re.compile(r"Backward\d*$")
_SCALARS = ("_saved_dim", "_saved_reduction", "_saved_ignore_index", "_saved_alpha", "_saved_keepdim")
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def read_nodes(
    root: Any, names: dict[int, str], limit: int = 64, factors: bool = False
) -> tuple[tuple[GraphNode, ...], bool]:
    """The nodes nearest to `root` (a loss's grad_fn), breadth first; True when there were more.

    `factors` asks for the numbers that products were made with and for dropout, which are saved as tensors.
    """
    nodes, order, more = walk_nodes(root, limit)
    return tuple(_describe(node, order, names, factors) for node in nodes), more


def walk_nodes(root: Any, limit: int) -> tuple[list[Any], dict[Any, int], bool]:
    """The nodes themselves, the number of each in that order, and whether there were more."""
    order: dict[Any, int] = {root: 0}
    queue = deque([root])
    nodes: list[Any] = []
    while queue and len(nodes) < limit:
        node = queue.popleft()
        nodes.append(node)
        for operand, _ in node.next_functions:
            if operand is not None and operand not in order:
                order[operand] = len(order)
                queue.append(operand)
    return nodes, order, bool(queue)


def _describe(node: Any, order: dict[Any, int], names: dict[int, str], factors: bool) -> GraphNode:
    # An operand beyond the limit keeps its number: it exists, but was not read.
    inputs = tuple(None if operand is None else order[operand] for operand, _ in node.next_functions)
    variable = getattr(node, "variable", None)
    parameter = names.get(id(variable), "") if variable is not None else None
    scalars = _saved_scalars(node) | (saved_factor(node) if factors else {})
    share = dropped_share(node) if factors else None
    scalars |= {"dropped": share} if share is not None else {}
    return GraphNode(op_name(node), made_shape(node), inputs, parameter, scalars)


def op_name(node: Any) -> str:
    """NllLoss for NllLossBackward0"""
    return _NUMBERED.sub("", node.name())


def made_shape(node: Any, output: int = 0) -> tuple[int, ...]:
    """The shape of what the op made, from the metadata of the gradient it expects; of several, this one."""
    metadata = getattr(node, "_input_metadata", None)
    if metadata:
        return _sizes(metadata[output])
    variable = getattr(node, "variable", None)
    return tuple(variable.shape) if variable is not None else ()


def _sizes(metadata: Any) -> tuple[int, ...]:
    """A nested tensor has sizes that are no numbers, or no shape at all: -1 stands for what differs."""
    try:
        return tuple(size if type(size) is int else -1 for size in metadata.shape)
    except RuntimeError:
        return (-1,)


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
            found[name.removeprefix("_saved_")] = signed(value)
    return found


def signed(value: float) -> float:
    """Autograd hands whole numbers out as unsigned ones of 64 bits: -1 comes as 2**64 - 1."""
    return value - 2**64 if value > 2**63 else value


def saved_factor(node: Any) -> dict[str, float | str]:
    """The number in `0.5 * x` or `x / 2`: a scalar, or a tensor of one element that is no wait away."""
    if op_name(node) not in ("Mul", "Div"):
        return {}
    value = saved(node, "_saved_other")
    if value is None:
        value = saved(node, "_saved_self")  # number * x
    if isinstance(value, torch.Tensor) and value.dim() == 0 and not value.is_cuda and not value.requires_grad:
        value = item_of(value)
    return {"factor": float(value)} if isinstance(value, (int, float)) else {}


def dropped_share(node: Any, looked_at: int = 1024) -> float | None:
    """The probability of a dropout. On the CPU that is a product with a mask of zeros and 1 / (1 - p)."""
    op = op_name(node)
    if op == "NativeDropout":
        share: float | None = saved(node, "_saved_p")
        return share
    mask = saved(node, "_saved_other") if op == "Mul" and node.next_functions[-1][0] is None else None
    if not isinstance(mask, torch.Tensor) or mask.is_cuda or not mask.is_contiguous() or mask.numel() < 32:
        return None
    values = mask.detach().reshape(-1)[:looked_at]
    factor, zeros = float(values.amax()), int((values == 0).sum())
    if factor <= 1.0 or zeros + int((values == factor).sum()) < len(values):
        return None
    share = 1.0 - 1.0 / factor
    by_chance = 5.0 * math.sqrt(share * (1.0 - share) / len(values))
    return round(share, 4) if abs(zeros / len(values) - share) <= by_chance else None
