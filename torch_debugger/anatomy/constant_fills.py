"""The line that gives a weight the same value everywhere: nn.init.constant_(layer.weight, 0.1)."""

from __future__ import annotations

import ast

from torch import nn

from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.records import Place

_FILLERS = ("constant_", "zeros_", "ones_", "fill_", "zero_", "full_")


def constant_fill(module: nn.Module, attribute: str, file: str | None) -> Place | None:
    """The first call of the file that fills weights; else the line of the class that makes the parameter."""
    tree = tree_of(file) if file else None
    calls = [node for node in ast.walk(tree) if _fills_weights(node)] if tree is not None else []
    if file is not None and calls:
        lines = sorted({call.lineno for call in calls if isinstance(call, ast.Call)})
        return place_at(file, lines[0])
    return attribute_place(type(module), attribute)


def _fills_weights(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    text = ast.unparse(node)
    return called in _FILLERS and "bias" not in text and "grad" not in text
