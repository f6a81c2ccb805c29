"""The value of a result in autograd's graph: kept by the node itself, by one that took it, or made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import softplus

from torch_debugger.anatomy.graph_nodes import made_shape, op_name, saved
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.loss_region import Edge, Taker

Takers = dict[Edge, list[Taker]]

_RESULTS = ("Exp", "Expm1", "Reciprocal", "Rsqrt", "Sigmoid", "Sqrt", "Tanh")
_SAME = ("Alias", "Clone", "Reshape", "ReshapeAlias", "Squeeze", "ToCopy", "Unsqueeze", "UnsafeView", "View")
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
        given = _tensor(node, "_saved_self")
        return (
            None
            if given is None
            else softplus(given, saved(node, "_saved_beta"), saved(node, "_saved_threshold"))
        )
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
