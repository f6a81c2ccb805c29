"""The objects that a dataset is made of, and the methods of theirs that make a sample."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.anatomy.sources import class_source

_OBJECTS = 64
_ENTRIES = ("__getitem__", "__getitems__", "__iter__", "__call__", "forward")


def dataset_parts(dataset: object) -> list[object]:
    """The dataset, what it is a part or a union of, and the objects of the user's own classes in them."""
    parts: list[object] = []
    waiting: list[Any] = [dataset]
    while waiting and len(parts) < _OBJECTS:
        part = waiting.pop(0)
        if not any(part is known for known in parts):
            parts.append(part)
            waiting += _held(part)
    return parts


def _held(part: object) -> Iterator[Any]:
    for name, value in vars(part).items() if hasattr(part, "__dict__") else ():
        values = value if is_one_of(value, (list, tuple)) and len(value) <= 16 else [value]
        for each in values:
            if name in ("dataset", "datasets", "transforms") or class_source(type(each)) is not None:
                yield each


def asked_by_workers(statement: ast.ClassDef) -> list[ast.FunctionDef]:
    """What runs when a sample is asked for: these methods, and those they call."""
    methods = {node.name: node for node in statement.body if isinstance(node, ast.FunctionDef)}
    found = [methods[name] for name in _ENTRIES if name in methods]
    for method in found:  # grows meanwhile
        called = {own_attribute_of(part) for part in ast.walk(method)}
        found += [other for name, other in methods.items() if name in called and other not in found]
    return found


def own_attribute_of(node: ast.AST) -> str:
    """rng for self.rng; else empty."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else ""
