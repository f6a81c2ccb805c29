"""The part of a loss that is arithmetic alone: no layer lies between it and the loss.

What a term of the loss (a KL divergence, a penalty) does to a tensor is the gradient through this part only.
The nodes are called by hand with what autograd has saved: no hook runs, no `.grad` is touched, nothing is
let go of.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch

from torch_debugger.anatomy.graph_nodes import made_shape, op_name

Edge = tuple[Any, int]  # a node, and which of its results
Taker = tuple[Any, int]  # a node, and as which of its operands

_MOST_NODES = 600
_VIEWS = (
    "Alias", "Clone", "Expand", "Reshape", "ReshapeAlias", "Squeeze", "ToCopy", "Unsqueeze", "UnsafeView",
    "View",
)  # fmt: skip
UNARY = frozenset({
    *_VIEWS, "Abs", "Add", "Clamp", "ClampMax", "ClampMin", "Div", "Exp", "Expm1", "Log", "Log1P", "Mul", "Neg",
    "Pow", "Reciprocal", "Rsqrt", "Rsub", "Sigmoid", "Softplus", "Sqrt", "Sub", "Tanh",
})  # fmt: skip
_ARITHMETIC = UNARY | {"Maximum", "Mean", "Minimum", "Relu", "Select", "Sum", "Where"}
COMPARING = ("BinaryCrossEntropy", "BinaryCrossEntropyWithLogits", "MseLoss", "SmoothL1Loss")


class LossRegion:
    def __init__(self, root: Any) -> None:
        self.takers: dict[Edge, list[Taker]] = {}
        self.nodes: list[Any] = []  # operands before those that take them
        self.is_whole = True
        self._walk(root)
        self._root = root

    def _walk(self, root: Any) -> None:
        seen, waiting = {root}, [(root, False)]
        while waiting:
            node, done = waiting.pop()
            if done:
                self.nodes.append(node)
                continue
            waiting.append((node, True))
            for place, (operand, number) in enumerate(node.next_functions):
                if operand is None:
                    continue
                self.takers.setdefault((operand, number), []).append((node, place))
                if operand not in seen and op_name(operand) in _ARITHMETIC:
                    if len(seen) >= _MOST_NODES:
                        self.is_whole = False
                        return
                    seen.add(operand)
                    waiting.append((operand, False))

    def gradients(self, wanted: set[Edge]) -> dict[Edge, torch.Tensor]:
        """Of the loss, through this part of it; a wanted result may lie behind another one."""
        leading = self._leading_to(wanted)
        found: dict[Edge, torch.Tensor] = {}
        first = self._root._input_metadata[0]
        found[self._root, 0] = torch.ones(first.shape, dtype=first.dtype, device=first.device)
        for node in reversed(self.nodes):
            gradient = found.get((node, 0))
            if node not in leading or gradient is None:
                continue
            for (operand, number), part in zip(node.next_functions, _called(node, gradient), strict=False):
                if (
                    operand is not None
                    and part is not None
                    and (operand in leading or (operand, number) in wanted)
                ):
                    before = found.get((operand, number))
                    found[operand, number] = part if before is None else before + part
        return {edge: found[edge] for edge in wanted if edge in found}

    def _leading_to(self, wanted: set[Edge]) -> set[Any]:
        leading: set[Any] = set()
        for node in self.nodes:
            if any(edge in wanted or edge[0] in leading for edge in node.next_functions):
                leading.add(node)
        return leading


def chain_behind(edge: Edge, most: int = 8) -> list[Edge]:
    """From a result back through functions of one tensor to the layer, or the slice, that they begin with."""
    chain = [edge]
    while len(chain) < most and op_name(chain[-1][0]) in UNARY:
        operands = [each for each in chain[-1][0].next_functions if each[0] is not None]
        if len(operands) != 1:
            break
        chain.append(operands[0])
    return chain


def slope(chain: list[Edge]) -> torch.Tensor | None:
    """Of the first of a chain by the last of it, element by element."""
    first = chain[0][0]._input_metadata[chain[0][1]]
    gradient = torch.ones(first.shape, dtype=first.dtype, device=first.device)
    for (node, _), following in itertools.pairwise(chain):
        part = _called(node, gradient)[node.next_functions.index(following)]
        if part is None:
            return None
        gradient = part
    return gradient


def _called(node: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    found = node(gradient)
    return found if isinstance(found, tuple) else (found,)


def size_of(edge: Edge) -> int:
    return torch.Size(made_shape(*edge)).numel()


def takers_in(nodes: Any) -> dict[Edge, list[Taker]]:
    """Of each result among these nodes."""
    takers: dict[Edge, list[Taker]] = {}
    for node in nodes:
        for place, edge in enumerate(node.next_functions):
            if edge[0] is not None:
                takers.setdefault(edge, []).append((node, place))
    return takers
