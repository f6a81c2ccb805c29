"""Lines of the user's with a tensor or a model moved to another device."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.calls import parse_statement
from torch_debugger.records import Edit, Place

_MOVES = ("to", "cuda", "cpu")


def moved_in(place: Place, names: list[str], device: str) -> Edit | None:
    """loss = criterion(out, y) -> loss = criterion(out, y.to(device)), where each name stands there once."""
    code = place.code or ""
    for name in names:
        spots = _operands(code, name)
        if len(spots) != 1:
            return None
        code = _inserted(code, spots[0], f".to({device})")
    return line_edit(place, code)


def moved_value(place: Place, device: str) -> Edit | None:
    """net = Net() -> net = Net().to(device)"""
    code = place.code or ""
    tree = parse_statement(code)
    statement = tree.body[0] if isinstance(tree, ast.Module) and tree.body else None
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(value, ast.Call) or _is_moved(value):
        return None
    return line_edit(place, _inserted(code, value, f".to({device})"))


def line_edit(place: Place, code: str | None) -> Edit | None:
    """The edit of the one line that differs."""
    if place.file is None or place.line is None or place.code is None or code is None:
        return None
    old, new = place.code.split("\n"), code.split("\n")
    changed = [index for index in range(len(old)) if len(old) == len(new) and old[index] != new[index]]
    if len(changed) != 1:
        return None
    return Edit(place.file, place.line + changed[0], old[changed[0]], new[changed[0]])


def _is_moved(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES


def _operands(code: str, name: str) -> list[ast.expr]:
    """Where an expression of this name is handed on as it is; not the x of x.shape, nor what is assigned."""
    tree = parse_statement(code) if code.isascii() else None
    nodes = list(ast.walk(tree)) if tree is not None else []
    bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    stored = [node for node in nodes if isinstance(getattr(node, "ctx", None), ast.Store)]
    written = {id(part) for node in stored for part in ast.walk(node)}
    return [
        node
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        and ast.unparse(node) == name
        and id(node) not in bases | written
    ]


def _inserted(code: str, node: ast.expr, text: str) -> str:
    """The code with a text right behind an expression."""
    lines = code.split("\n")
    row, column = (node.end_lineno or 1) - 1, node.end_col_offset or 0
    lines[row] = lines[row][:column] + text + lines[row][column:]
    return "\n".join(lines)
