"""The line of a script that seeds torch in the course of its training."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.method_calls import calls_of
from torch_debugger.anatomy.repetition import is_in_loop
from torch_debugger.anatomy.sources import tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place


def seeding_in_loop(loop: Place) -> Place:
    """The last call of manual_seed, or of a function that calls it, inside any loop or beside this one."""
    tree = tree_of(loop.file) if loop.file else None
    if tree is None or loop.line is None:
        return Place()
    seeds = [place for _, place in calls_of(loop.file, "manual_seed")]
    around = [function_around(tree, place.line or 0) for place in seeds]
    names = {function.name for function in around if isinstance(function, ast.FunctionDef)}
    outside = [place for name in names for _, place in calls_of(loop.file, name)]
    home = function_around(tree, loop.line)
    found = [place for place in (*seeds, *outside) if _repeats(tree, home, place.line or 0)]
    return max(found, key=lambda place: place.line or 0, default=Place())


def _repeats(tree: ast.Module, home: ast.AST, line: int) -> bool:
    return is_in_loop(tree, line) or (home is not tree and function_around(tree, line) is home)
