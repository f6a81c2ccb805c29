"""Errors written by hand, as in ((model(x) - y) ** 2).mean(): both sides, from the difference in the graph.

A difference forgets what it was made of. The model's side is at hand where its last op is a linear layer or an
activation: the one can be computed again for some samples, the other kept its result.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_debugger.anatomy.graph_nodes import op_name, saved
from torch_debugger.anatomy.kinds import is_a

BY_HAND = ("Pow", "Abs")
_SAME_ORDER = ("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze")
_KEPT = ("Sigmoid", "Tanh", "Relu", "Softmax")
_ROWS = 64
_MOST_WEIGHTS = 2**20


def difference_sides(node: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Prediction and target, where a square or an absolute value was taken of prediction - target."""
    difference, minus = saved(node, "_saved_self"), node.next_functions[0][0]
    squared = op_name(node) == "Abs" or saved(node, "_saved_exponent") == 2
    if not squared or not _is_plain(difference) or minus is None or op_name(minus) != "Sub":
        return None
    made = [operand for operand, _ in minus.next_functions]
    if len(made) != 2 or made.count(None) != 1 or saved(minus, "_saved_alpha") != 1:
        return None
    first = made[0] is not None
    rows = _prediction(made[0] if first else made[1], difference.numel())
    if rows is None:
        return None
    prediction, apart = rows.reshape(-1), difference.detach().reshape(-1)[: rows.numel()]
    return prediction, prediction - apart if first else prediction + apart


def _prediction(node: Any, count: int) -> torch.Tensor | None:
    """The first rows of what the model made, if it made `count` values."""
    while op_name(node) in _SAME_ORDER and node.next_functions[0][0] is not None:
        node = node.next_functions[0][0]
    if op_name(node) in _KEPT:
        result = saved(node, "_saved_result")
        return result.detach()[:_ROWS] if _is_plain(result) and result.numel() == count else None
    return _linear(node, count) if op_name(node) == "Addmm" else None


def _linear(node: Any, count: int) -> torch.Tensor | None:
    bias, turned = (getattr(leaf, "variable", None) for leaf in _leaves(node))
    given: Any = saved(node, "_saved_mat1")
    weight: Any = saved(node, "_saved_mat2") if turned is None else turned.t()
    if bias is None or not all(map(_is_plain, (bias, given, weight))) or weight.numel() > _MOST_WEIGHTS:
        return None
    if len(given) * weight.shape[1] != count:
        return None
    return torch.addmm(bias.detach(), given.detach()[:_ROWS], weight.detach())


def _leaves(node: Any) -> tuple[Any, Any]:
    """Bias and weight of a linear layer; the weight is behind a transposition."""
    (bias, _), _, (weight, _) = node.next_functions
    turned = weight is not None and op_name(weight) == "T"
    return bias, weight.next_functions[0][0] if turned else None


def _is_plain(value: Any) -> bool:
    return is_a(value, torch.Tensor) and value.layout is torch.strided and value.is_floating_point()
