"""Loops that go through the parameters of two models side by side: does one of them get written to?"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torch_debugger.anatomy.method_calls import calls_of
from torch_debugger.anatomy.repetition import condition_around
from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place

_CALLERS = 4  # followed


@dataclass(frozen=True)
class Walk:
    place: Place  # for a, p in zip(ema.parameters(), net.parameters()):
    idle: Place | None  # the first line inside, where none of them changes a parameter
    sometimes: bool  # under a condition: every so many steps
    uncalled: Place | None  # the function that leads to it and that no line calls


def walks_of(file: str | None, owner: str) -> list[Walk]:
    """Those through the parameters of `owner`, a variable or an attribute."""
    tree = tree_of(file) if file else None
    if tree is None or file is None:
        return []
    lines = {place.line for name, place in calls_of(file, "parameters") if name == owner}
    loops = [node for node in nodes_of(tree) if isinstance(node, ast.For) and node.lineno in lines]
    return [
        Walk(
            place_at(file, loop.lineno),
            _idle(file, loop),
            _is_conditional(tree, file, loop.lineno),
            _uncalled(tree, file, loop.lineno),
        )
        for loop in loops
        if "zip(" in ast.unparse(loop.iter)
    ]


def _idle(file: str, loop: ast.For) -> Place | None:
    """`a = 0.9 * a + ...` renames the variable, `a.mul(0.9)` drops its result."""
    variables = _names(loop.target)
    idle = all(_is_dropped(node) or _is_renaming(node, variables) for node in loop.body)
    return place_at(file, loop.body[0].lineno) if idle else None


def _is_dropped(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return all(isinstance(call.func, ast.Attribute) and not call.func.attr.endswith("_") for call in calls)


def _is_renaming(node: ast.stmt, variables: set[str]) -> bool:
    return isinstance(node, ast.Assign) and all(
        isinstance(target, ast.Name) and target.id in variables for target in node.targets
    )


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _is_conditional(tree: ast.Module, file: str, line: int) -> bool:
    """The loop itself, or the calls of its function."""
    function = function_around(tree, line)
    name = getattr(function, "name", "")
    calls = [place.line for _, place in calls_of(file, name)] if name else []
    return any(condition_around(file, each) is not None for each in (line, *calls) if each is not None)


def _uncalled(tree: ast.Module, file: str, line: int) -> Place | None:
    """From a line up through the only calls of the functions around it."""
    for _ in range(_CALLERS):
        function = function_around(tree, line)
        if not isinstance(function, ast.FunctionDef):
            return None
        calls = calls_of(file, function.name)
        if not calls and not function.name.startswith("__"):
            return place_at(file, function.lineno)
        if len(calls) != 1 or calls[0][1].line is None:
            return None
        line = calls[0][1].line
    return None
