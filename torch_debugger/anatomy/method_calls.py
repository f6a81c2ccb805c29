"""Calls of a method in the user's source, with the variable they are made on."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.records import Place


def calls_of(file: str | None, method: str) -> list[tuple[str, Place]]:
    """`self.model.eval()` at line 40 -> ("model", train.py:40); in the order of their lines."""
    tree = tree_of(file) if file else None
    if tree is None or file is None:
        return []
    found = [
        (_owner(node.func.value), node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
    ]
    return [(owner, place_at(file, line)) for owner, line in sorted(found, key=lambda each: each[1])]


def _owner(value: ast.expr) -> str:
    if isinstance(value, ast.Attribute):
        return value.attr
    return value.id if isinstance(value, ast.Name) else ""
