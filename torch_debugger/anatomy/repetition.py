"""Whether a line of a script runs once, again and again or under a condition, as far as its source tells."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place

_LOOPS = (ast.For, ast.While)
_ONCE = ("__init__", "main", "setup", "build")


def is_in_loop(tree: ast.Module, line: int) -> bool:
    loops = [node for node in nodes_of(tree) if isinstance(node, _LOOPS)]
    return any(node.lineno < line <= (node.end_lineno or 0) for node in loops)


def can_repeat(place: Place) -> bool:
    """In a loop, or in a function that somebody may call in one; a constructor runs once."""
    tree = tree_of(place.file) if place.file else None
    if tree is None or place.line is None:
        return False
    function = function_around(tree, place.line)
    called = isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.name not in _ONCE
    return called or is_in_loop(tree, place.line)


def condition_around(file: str, line: int) -> Place | None:
    """The innermost if around a line, inside its function; the one around a whole script is none."""
    tree = tree_of(file)
    around = ast.walk(function_around(tree, line)) if tree is not None else ()
    found = [
        node.lineno
        for node in around
        if isinstance(node, ast.If) and node.lineno < line <= (node.end_lineno or 0)
        if "__name__" not in ast.unparse(node.test)
    ]
    return place_at(file, max(found)) if found else None
