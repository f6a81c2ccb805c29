"""The condition on the rank that a line runs under: what not every rank calls."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.records import Place

_WORDS = ("rank", "is_main", "is_master", "main_process", "is_chief", "process_index")


def condition_on_rank(place: Place) -> Place:
    """The innermost `if` around the line that asks which rank this is; an empty place where there is none."""
    tree = tree_of(place.file) if place.file and place.line else None
    if tree is None or not place.file or not place.line:
        return Place()
    around = [
        node
        for node in nodes_of(tree)
        if isinstance(node, ast.If | ast.While | ast.IfExp) and _holds(node, place.line) and _asks(node.test)
    ]
    return place_at(place.file, max(node.lineno for node in around)) if around else Place()


def _holds(node: ast.If | ast.While | ast.IfExp, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _asks(test: ast.expr) -> bool:
    words = ast.unparse(test).lower()
    return any(word in words for word in _WORDS)
