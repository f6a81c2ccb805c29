"""[row] * n in the user's source: one object under n names, which all change together."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.records import Place


def repeated_row(file: str | None) -> Place:
    """The one such line of a file where the row is made by a call; none where there are several."""
    tree = tree_of(file) if file else None
    products = [node for node in (nodes_of(tree) if tree else ()) if isinstance(node, ast.BinOp)]
    lines = {node.lineno for node in products if isinstance(node.op, ast.Mult) and _is_row(node.left)}
    return place_at(file, lines.pop()) if file and len(lines) == 1 else Place()


def _is_row(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and len(node.elts) == 1 and isinstance(node.elts[0], ast.Call)
