"""The line that puts another parameter, or a new layer, in the place of one that was there."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from torch_debugger.anatomy.containers import dotted
from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.records import Place

_BUILDERS = frozenset({"__init__", "setup", "build", "reset_parameters", "configure_model"})


def parameter_line(name: str, files: tuple[str, ...]) -> Place:
    """Of net.head.weight: `anything.weight = nn.Parameter(...)`, else `anything.head = nn.Linear(...)`."""
    path = name.split(".")[1:]
    for depth in range(len(path) - 1, -1, -1):
        attribute, owner = path[depth], path[depth - 1] if depth else ""
        found = [
            place_at(file, node.lineno)
            for file in files
            if (tree := tree_of(file)) is not None
            for node in _replacing(tree)
            for target in node.targets
            if isinstance(target, ast.Attribute) and target.attr == attribute and _may_be(target.value, owner)
            if depth < len(path) - 1 or _makes_parameter(node.value)
        ]
        if found:
            return found[-1]
    return Place()


@functools.lru_cache(maxsize=64)
def _replacing(tree: ast.Module) -> tuple[ast.Assign, ...]:
    """Assignments of the result of a call, outside of what builds a module."""
    return tuple(
        node for node in _outside_builders(tree) if isinstance(node, ast.Assign) and _calls(node.value)
    )


def _outside_builders(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.FunctionDef) and child.name in _BUILDERS):
            yield child
            yield from _outside_builders(child)


def _may_be(part: ast.expr, owner: str) -> bool:
    """A variable may be any module; an attribute says which."""
    return not isinstance(part, ast.Attribute) or part.attr == owner


def _calls(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) for node in nodes_of(value))


def _makes_parameter(value: ast.expr) -> bool:
    calls = [node for node in nodes_of(value) if isinstance(node, ast.Call)]
    return any(dotted(call.func).rpartition(".")[2] == "Parameter" for call in calls)
