"""Lines of a class that make two weights one, or copy one into the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.anatomy.sources import class_source, place_at
from torch_debugger.records import Place


@dataclass(frozen=True)
class Tie:
    first: str  # embed.weight: what is given
    second: str  # head.weight: what gets it
    shared: bool  # assigned as it is; else a copy of its values
    place: Place


def ties(cls: type) -> list[Tie]:
    """Of `__init__` and of the methods that it calls, as far as they run always."""
    source = class_source(cls)
    if source is None:
        return []
    methods = {node.name: node for node in source[1].body if isinstance(node, ast.FunctionDef)}
    statements = list(_statements(methods, "__init__"))
    return [
        Tie(*tie, place_at(source[0], statement.lineno)) for statement in statements for tie in _tie(statement)
    ]


def _statements(methods: dict[str, ast.FunctionDef], name: str) -> Iterator[ast.stmt]:
    for statement in methods[name].body if name in methods else ():
        yield statement
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=called))):
                yield from methods[called].body if called in methods else ()


def _tie(statement: ast.stmt) -> Iterator[tuple[str, str, bool]]:
    match statement:
        case ast.Assign(targets=[target], value=value):
            second = _weight(target)
            given = [path for node in ast.walk(value) if (path := _weight(node)) is not None]
            if second is not None and len(given) == 1 and given[0] != second:
                yield given[0], second, _weight(value) is not None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="copy_"), args=[value])):
            second, first = _weight(target), _weight(value)
            if second is not None and first is not None and first != second:
                yield first, second, False


def _weight(node: ast.AST) -> str | None:
    """head.weight of self.head.weight and of self.head.weight.data"""
    if not isinstance(node, ast.Attribute):
        return None
    parts = ast.unparse(node).removesuffix(".data").split(".")
    return ".".join(parts[1:]) if len(parts) >= 3 and parts[0] == "self" and parts[-1] == "weight" else None
