"""Calls of a method in the user's source, with the variable they are made on."""

from __future__ import annotations

import ast
import functools

from torch_debugger.anatomy.sources import covers, nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place


@functools.lru_cache(maxsize=256)
def calls_of(file: str | None, method: str) -> tuple[tuple[str, Place], ...]:
    """`self.model.eval()` at line 40 -> ("model", train.py:40), and a plain `grad(...)` -> ("", ...).

    In the order of their lines, and looked up once: a script does not change while it runs.
    """
    tree = tree_of(file) if file else None
    if tree is None or file is None:
        return ()
    calls = [node for node in nodes_of(tree) if isinstance(node, ast.Call)]
    found = [(_owner(call.func), call.lineno) for call in calls if _name(call.func) == method]
    return tuple((owner, place_at(file, line)) for owner, line in sorted(found, key=lambda each: each[1]))


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _owner(function: ast.expr) -> str:
    value = function.value if isinstance(function, ast.Attribute) else None
    if isinstance(value, ast.Attribute):
        return value.attr
    return value.id if isinstance(value, ast.Name) else ""


def written_as(place: Place, name: str) -> str:
    """How a line can reach what is known by its last name: `self.optimizer`, where its function says so, or
    fills it elsewhere in the class."""
    tree = tree_of(place.file) if place.file else None
    if tree is None or place.line is None:
        return name
    scope = function_around(tree, place.line)
    inside = [node for node in ast.walk(scope) if isinstance(node, ast.Attribute) and node.attr == name]
    if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(scope)):
        return name
    found = {ast.unparse(node) for node in inside}
    if not found and _own_name(scope) == "self":
        kinds = (node for node in nodes_of(tree) if isinstance(node, ast.ClassDef) and covers(node, place.line))
        parts = (part for kind in kinds for part in ast.walk(kind) if isinstance(part, ast.Attribute))
        found = {text for part in parts if part.attr == name and (text := ast.unparse(part)) == f"self.{name}"}
    return found.pop() if len(found) == 1 else name


def _own_name(function: ast.AST) -> str:
    arguments = function.args.args if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else []
    return arguments[0].arg if arguments else ""
