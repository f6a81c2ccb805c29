"""The part of a loss that is arithmetic alone: no layer lies between it and the loss.

What a term of the loss (a KL divergence, a penalty) does to a tensor is the gradient through this part only.
The nodes are called by hand with what autograd has saved: no hook runs, no `.grad` is touched, nothing is
let go of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import softplus

from torch_debugger.model.autograd_graph import made_shape, op_name, saved
from torch_debugger.source.objects import is_a

Edge = tuple[Any, int]  # a node, and which of its results
Taker = tuple[Any, int]  # a node, and as which of its operands

_MOST_NODES = 600
_LONGEST_CHAIN = 8
_SAME = ("Alias", "Clone", "Reshape", "ReshapeAlias", "Squeeze", "ToCopy", "Unsqueeze", "UnsafeView", "View")
UNARY = frozenset({
    *_SAME, "Abs", "Add", "Clamp", "ClampMax", "ClampMin", "Div", "Exp", "Expand", "Expm1", "Log", "Log1P", "Mul",
    "Neg", "Pow", "Reciprocal", "Rsqrt", "Rsub", "Sigmoid", "Softplus", "Sqrt", "Sub", "Tanh",
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
        leading: set[Any] = set()  # to what is wanted
        for node in self.nodes:
            if any(edge in wanted or edge[0] in leading for edge in node.next_functions):
                leading.add(node)
        found: dict[Edge, torch.Tensor] = {}
        first = self._root._input_metadata[0]
        found[self._root, 0] = torch.ones(first.shape, dtype=first.dtype, device=first.device)
        for node in reversed(self.nodes):
            gradient = found.get((node, 0))
            if node not in leading or gradient is None:
                continue
            for (operand, number), part in zip(node.next_functions, _called(node, gradient), strict=False):
                if operand is not None and part is not None and (operand in leading or (operand, number) in wanted):
                    before = found.get((operand, number))
                    found[operand, number] = part if before is None else before + part
        return {edge: found[edge] for edge in wanted if edge in found}


def chain_behind(edge: Edge) -> list[Edge]:
    """From a result back through functions of one tensor to the layer, or the slice, that they begin with."""
    chain = [edge]
    while len(chain) < _LONGEST_CHAIN and op_name(chain[-1][0]) in UNARY:
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


# The value of a result in autograd's graph: kept by the node itself, by one that took it, or made anew.
Takers = dict[Edge, list[Taker]]

_RESULTS = ("Exp", "Expm1", "Reciprocal", "Rsqrt", "Sigmoid", "Sqrt", "Tanh")
_BY_INPUT = ("Abs", "Clamp", "ClampMax", "ClampMin", "Log", "Log1P", "Pow", "Softplus")
_INVERSES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Exp": torch.log, "Expm1": torch.log1p, "Sqrt": torch.square, "Reciprocal": torch.reciprocal,
}  # fmt: skip
_DEPTH = 5


def value_of(edge: Edge, takers: Takers, depth: int = _DEPTH) -> torch.Tensor | None:
    """In the shape of the result; None where nobody kept it."""
    found = _kept(edge, takers)
    if found is None and depth:
        found = _by_operands(edge, takers, depth) if edge[1] == 0 else None
        found = _by_takers(edge, takers, depth) if found is None else found
    shape = made_shape(*edge)
    if found is None or found.numel() != torch.Size(shape).numel():
        return None
    return found.detach().reshape(shape)


def _kept(edge: Edge, takers: Takers) -> torch.Tensor | None:
    node, _ = edge
    if op_name(node) in _RESULTS:
        return _tensor(node, "_saved_result")
    if op_name(node) == "Softplus":
        value = _tensor(node, "_saved_self")
        return None if value is None else softplus(value, saved(node, "_saved_beta"), saved(node, "_saved_threshold"))
    for taker, place in takers.get(edge, ()):
        found = _kept_by_taker(taker, place)
        if found is not None:
            return found
    return None


def _kept_by_taker(taker: Any, place: int) -> torch.Tensor | None:
    op = op_name(taker)
    if op in _BY_INPUT:
        return _tensor(taker, "_saved_self")
    if op in ("Mul", "Div"):
        return _tensor(taker, ("_saved_self", "_saved_other")[place])
    result = _tensor(taker, "_saved_result") if op in _INVERSES else None
    return None if result is None else _INVERSES[op](result)


def _by_operands(edge: Edge, takers: Takers, depth: int) -> torch.Tensor | None:
    node, _ = edge
    op = op_name(node)
    operands = [each for each in node.next_functions if each[0] is not None]
    if len(operands) != 1 or op not in (*_SAME, "Neg", "Mul", "Div"):
        return None
    factor = _factor(node, op)
    value = value_of(operands[0], takers, depth - 1) if factor is not None else None
    return None if value is None or factor is None else value * factor


def _by_takers(edge: Edge, takers: Takers, depth: int) -> torch.Tensor | None:
    """From what one that took it gave: twice the half of it."""
    for taker, _ in takers.get(edge, ()):
        op = op_name(taker)
        operands = [each for each in taker.next_functions if each[0] is not None]
        factor = _factor(taker, op) if len(operands) == 1 else None
        if factor is not None and op in (*_SAME, "Neg", "Mul", "Div"):
            value = _kept((taker, 0), takers)
            if value is not None:
                return value / factor
    return None


def _factor(node: Any, op: str) -> torch.Tensor | float | None:
    """What a function of one tensor multiplies with."""
    if op in _SAME:
        return 1.0
    if op == "Neg":
        return -1.0
    other = saved(node, "_saved_other")
    if op == "Div":
        return None if other is None or node.next_functions[0][0] is None else 1.0 / other
    factor: torch.Tensor | float | None = saved(node, "_saved_self") if other is None else other
    return factor


def _tensor(node: Any, name: str) -> torch.Tensor | None:
    value = saved(node, name)
    return value if is_a(value, torch.Tensor) and value.layout is torch.strided else None
