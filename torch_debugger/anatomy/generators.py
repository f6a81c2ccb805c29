"""Random generators that a dataset, or a transform of its, keeps as an attribute and draws from."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from torch_debugger.anatomy.sources import class_source, place_at
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.records import Place

_KINDS = (numpy.random.Generator, numpy.random.RandomState, random.Random, torch.Generator)
_OBJECTS = 64
_ENTRIES = ("__getitem__", "__getitems__", "__call__", "forward")


@dataclass(frozen=True)
class KeptGenerator:
    owner: str  # the class
    attribute: str
    kind: str
    place: Place  # the line that makes it
    drawn: Place  # the first line that draws from it where a sample is made


def kept_generators(dataset: object) -> list[KeptGenerator]:
    found = [_found(owner, name) for owner in _parts(dataset) for name in _generators(owner)]
    return [each for each in found if each is not None]


def _parts(dataset: object) -> list[object]:
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
        values = value if type(value) in (list, tuple) and len(value) <= 16 else [value]
        for each in values:
            if name in ("dataset", "datasets", "transforms") or class_source(type(each)) is not None:
                yield each


def _generators(owner: object) -> list[str]:
    held = vars(owner) if hasattr(owner, "__dict__") else {}
    return [name for name, value in held.items() if isinstance(value, _KINDS)]


def _found(owner: object, attribute: str) -> KeptGenerator | None:
    source = class_source(type(owner))
    if source is None:
        return None
    file, statement = source
    if any(name in ("get_worker_info", "worker_info") for name in _names(statement)):
        return None  # it asks which worker it is
    parts = [part for method in _asked_by_workers(statement) for part in ast.walk(method)]
    uses = [part for part in parts if isinstance(part, ast.Attribute) and _own(part) == attribute]
    if not uses or any(isinstance(use.ctx, ast.Store) for use in uses):
        return None
    kind = type(getattr(owner, attribute)).__name__
    made = attribute_place(type(owner), attribute) or Place()
    return KeptGenerator(
        type(owner).__name__, attribute, kind, made, place_at(file, min(use.lineno for use in uses))
    )


def _asked_by_workers(statement: ast.ClassDef) -> list[ast.FunctionDef]:
    """What runs when a sample is asked for: these methods, and those they call."""
    methods = {node.name: node for node in statement.body if isinstance(node, ast.FunctionDef)}
    found = [methods[name] for name in _ENTRIES if name in methods]
    for method in found:  # grows meanwhile
        called = {_own(part) for part in ast.walk(method)}
        found += [other for name, other in methods.items() if name in called and other not in found]
    return found


def _own(node: ast.AST) -> str:
    """rng for self.rng; else empty."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else ""


def _names(node: ast.AST) -> set[str]:
    parts = list(ast.walk(node))
    attributes = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return attributes | {part.id for part in parts if isinstance(part, ast.Name)}
