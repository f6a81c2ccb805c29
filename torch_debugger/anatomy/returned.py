"""The line of a forward method that returns the output of an activation: the last thing the model does."""

from __future__ import annotations

import ast

from torch import nn

from torch_debugger.anatomy.sources import class_source, place_at
from torch_debugger.records import Place

_SHAPE_ONLY = (
    "squeeze",
    "unsqueeze",
    "view",
    "reshape",
    "flatten",
    "contiguous",
    "float",
    "transpose",
    "permute",
)


def returned_activation(module: nn.Module, kind: type[nn.Module], function: str) -> Place | None:
    """Where `forward` returns relu(x), x.relu() or self.act(x) with self.act of this kind; None if nowhere."""
    source = class_source(type(module))
    forward = _forward(source[1]) if source is not None else None
    if source is None or forward is None:
        return None
    for node in ast.walk(forward):
        if isinstance(node, ast.Return) and node.value is not None:
            made = _made(node.value, forward)
            if _is_activation(made, module, kind, function):
                return place_at(source[0], made.lineno)
    return None


def _forward(body: ast.AST) -> ast.FunctionDef | None:
    functions = [node for node in ast.walk(body) if isinstance(node, ast.FunctionDef)]
    return next((function for function in functions if function.name == "forward"), None)


def _made(value: ast.expr, forward: ast.FunctionDef) -> ast.expr:
    """The expression behind a returned one: changes of shape left out, a variable followed to its last line."""
    while (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SHAPE_ONLY
    ):
        value = value.func.value
    if isinstance(value, ast.Name):
        assigned = [
            node
            for node in ast.walk(forward)
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == value.id
        ]
        if assigned:
            return max(assigned, key=lambda node: node.lineno).value
    return value


def _is_activation(node: ast.expr, module: nn.Module, kind: type[nn.Module], function: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return called == function or isinstance(dict(module.named_children()).get(called), kind)
