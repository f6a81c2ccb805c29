"""Which variable is the loss: read from the line that calls backward()."""

from __future__ import annotations

import ast

from torch_debugger.records import Place

_SAME_LOSS = ("mean", "sum", "squeeze", "float", "double")  # loss.mean().backward()


def loss_name(place: Place) -> str:
    """The variable in `loss_d.backward()` or `accelerator.backward(loss_d)`; "loss" where it can't be told."""
    try:
        tree = ast.parse(place.code or "")
    except SyntaxError:
        return "loss"
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "manual_backward"):
            return _variable(call.args[0] if call.args else call.func.value)
    return "loss"


def _variable(value: ast.expr) -> str:
    while isinstance(value, (ast.BinOp, ast.Call)):
        if isinstance(value, ast.BinOp):
            value = value.left
        elif isinstance(value.func, ast.Attribute) and value.func.attr == "scale" and value.args:
            value = value.args[0]
        elif isinstance(value.func, ast.Attribute) and value.func.attr in _SAME_LOSS:
            value = value.func.value
        else:
            return "loss"
    if isinstance(value, ast.Name):
        return value.id
    return value.attr if isinstance(value, ast.Attribute) else "loss"
