"""A method that is named but not called: the line `optimizer.step`, without its parentheses."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.records import Place


def uncalled(file: str | None, method: str, owner: str = "") -> Place:
    """The one statement of a file that is nothing but `something.<method>`, of this owner if one is named."""
    tree = tree_of(file) if file else None
    lines = [
        node.lineno
        for node in (nodes_of(tree) if tree is not None else ())
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute) and node.value.attr == method
        if ast.unparse(node.value.value).endswith(owner)
    ]
    return place_at(file, lines[0]) if file and len(lines) == 1 else Place()
