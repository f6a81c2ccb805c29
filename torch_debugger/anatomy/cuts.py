"""Lines after which a gradient cannot find its way back: detach(), .data, numpy(), argmax, no_grad."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch_debugger.anatomy.sources import covers, nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place

_METHODS = frozenset({"detach", "detach_", "item", "numpy", "tolist", "argmax", "argmin", "long", "int"})
_WRAPPERS = frozenset(
    {"torch.tensor", "torch.as_tensor", "torch.from_numpy", "torch.FloatTensor", "torch.Tensor"}
)
_SWITCHES = ("no_grad", "inference_mode", "set_grad_enabled(False)")


def find_switch(file: str, line: int) -> Place | None:
    """The `with torch.no_grad():` or the decorator that a line runs under."""
    tree = tree_of(file)
    if tree is None:
        return None
    blocks = [node for node in nodes_of(tree) if isinstance(node, ast.With) and covers(node, line)]
    lines = [block.lineno for block in blocks if any(_switches(item.context_expr) for item in block.items)]
    function = function_around(tree, line)
    lines += [mark.lineno for mark in getattr(function, "decorator_list", ()) if _switches(mark)]
    return place_at(file, max(lines)) if lines else None


def find_dropped(file: str, line: int) -> Place | None:
    """The statement at a line, where it calls something and nobody reads the result."""
    tree = tree_of(file)
    function = function_around(tree, line) if tree is not None else None
    if function is None:
        return None
    found = [
        node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.Expr) and covers(node, line)
    ]
    found = [node for node in found if isinstance(node.value, ast.Call)]
    if not found:
        return None
    statement = max(found, key=lambda node: node.lineno)
    if isinstance(statement, ast.Assign) and not _is_forgotten(statement, function):
        return None
    return place_at(file, statement.lineno)


def _is_forgotten(statement: ast.Assign, function: ast.AST) -> bool:
    names = {part.id for target in statement.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    kept = any(isinstance(part, ast.Attribute) for target in statement.targets for part in ast.walk(target))
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and _is_read(node)}
    return not kept and not names & read and not any(name.startswith("_") for name in names)


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def cutting(statement: ast.AST) -> Iterator[ast.expr]:
    """The expressions in a piece of source whose results have no graph."""
    for node in ast.walk(statement):
        if isinstance(node, ast.expr) and (_is_cutting_call(node) or _is_data(node)):
            yield node


def _is_data(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load)


def _is_cutting_call(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if ast.unparse(node.func) in _WRAPPERS:
        return not all(isinstance(part, ast.Constant) for part in node.args)
    return isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS


def _switches(node: ast.expr) -> bool:
    return any(word in ast.unparse(node) for word in _SWITCHES)
