"""The statement that gives a variable its value, in the user's source."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.anatomy.sources import covers, nodes_of, tree_of
from torch_debugger.records import Place

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Assignment:
    place: Place  # the whole statement; of a loop its first line
    function: str  # that it stands in; empty at the top of the file


def assignment_of(file: str, line: int, name: str) -> Assignment | None:
    """The last statement above a line that assigns a name; else the last below it, where a loop comes round."""
    tree = tree_of(file)
    for scope in _scopes(tree, line) if tree else ():
        found = [node for node in _own(scope) if name in _assigned(node)]
        if found:
            above = [node for node in found if node.lineno < line]
            return _assignment(file, max(above or found, key=lambda node: node.lineno), scope)
        if isinstance(scope, _Function) and name in parameters(scope):
            return None
    return None


def filling_of_argument(place: Place) -> Place | None:
    """The statement that fills the variable which a call at this place is given first: params = [...]."""
    tree = tree_of(place.file) if place.file else None
    if tree is None or place.file is None or place.line is None:
        return None
    calls = (node for node in nodes_of(tree) if isinstance(node, ast.Call) and node.lineno == place.line)
    given = [call.args[0] for call in calls if call.args]
    if not given or not isinstance(given[0], ast.Name):
        return None
    found = assignment_of(place.file, place.line, given[0].id)
    return found.place if found is not None else None


def is_known_before(file: str, line: int, name: str) -> bool:
    """Whether a name has a value when a line runs: a parameter, or something assigned above."""
    tree = tree_of(file)
    for depth, scope in enumerate(_scopes(tree, line) if tree else ()):
        lines = [node.lineno for node in _own(scope) if name in _assigned(node)]
        if isinstance(scope, _Function) and name in parameters(scope):
            return True
        if lines:
            return min(lines) < line or depth > 0
    return False


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = function.args
    return [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def function_at(file: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function around a line."""
    tree = tree_of(file)
    scope = next(_scopes(tree, line)) if tree else None
    return scope if isinstance(scope, _Function) else None


def statement_place(file: str, node: ast.stmt) -> Place:
    last = node.lineno if hasattr(node, "body") else node.end_lineno
    lines = linecache.getlines(file)[node.lineno - 1 : last]
    return Place(file, node.lineno, None, "\n".join(text.strip() for text in lines))


def _assignment(file: str, node: ast.stmt, scope: ast.AST) -> Assignment:
    return Assignment(statement_place(file, node), getattr(scope, "name", ""))


def _scopes(tree: ast.Module, line: int) -> Iterator[ast.AST]:
    """The functions around a line, the innermost first, then the file."""
    around = [node for node in nodes_of(tree) if isinstance(node, _Function) and covers(node, line)]
    yield from sorted(around, key=lambda node: -node.lineno)
    yield tree


def _own(scope: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a scope, without those of functions and classes inside it."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, (*_Function, ast.ClassDef)):
            continue
        if isinstance(node, ast.stmt):
            yield node
        yield from _own(node)


def _assigned(node: ast.stmt) -> set[str]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.For, ast.AsyncFor)):
        targets = [node.target]
    elif isinstance(node, ast.With):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    return {ast.unparse(part) for target in targets for part in parts(target)}


def parts(target: ast.expr) -> Iterator[ast.expr]:
    """a and b of a, b = ..."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from parts(element)
    else:
        yield target
