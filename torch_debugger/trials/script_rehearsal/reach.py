"""Whether code of the user's moves tensors, or calls something of theirs that does, in any file and class."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

import torch

from torch_debugger.anatomy.sources import class_source, nodes_of, user_trees
from torch_debugger.trials.moves import DEVICES, Function, mentions, name_of

MOVERS = DEVICES | {"to"}
_DEEPEST = 4  # a dataset in a dataset, a transform in a transform


def object_may_move(held: Any, depth: int = 0) -> bool:
    """Whether the code of a dataset or of a transform speaks of devices, or what they hold or call does."""
    sources = [source for cls in type(held).__mro__ if (source := class_source(cls)) is not None]
    if depth > _DEEPEST or _reaches_a_move(source[1] for source in sources):
        return True
    attributes: Mapping[str, Any] = getattr(held, "__dict__", {})
    for value in attributes.values():
        several = value if isinstance(value, (list, tuple)) and len(value) < 16 else (value,)
        if any(_part_may_move(each, depth) for each in several):
            return True
    return False


def _part_may_move(held: Any, depth: int) -> bool:
    if hasattr(held, "__code__"):
        return function_may_move(held)
    is_data = isinstance(held, torch.Tensor | str | dict | list | tuple | type)
    if is_data or type(held).__module__.partition(".")[0] == "numpy":
        return False
    works = hasattr(type(held), "__getitem__") or callable(held)
    return (works or class_source(type(held)) is not None) and object_may_move(held, depth + 1)


def function_may_move(function: Any) -> bool:
    """Of a function, or of an object of the user's that is called as one."""
    code = getattr(function, "__code__", None)
    if code is None:
        return class_source(type(function)) is None or object_may_move(function)
    names = {name for each in _codes(code) for name in (*each.co_names, *each.co_freevars)}
    return bool(names & MOVERS) or _reaches_a_move(_defined(names))


def may_move_under_a_condition(call: ast.Call) -> bool:
    """Whether a function of the user's is called that moves tensors on some machines only."""
    return any(
        any(isinstance(part, ast.If | ast.IfExp) for part in ast.walk(each)) and mentions(each, MOVERS)
        for each in _reached(_defined({name_of(call.func)}))
        if isinstance(each, Function)
    )


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _reaches_a_move(nodes: Iterable[ast.AST]) -> bool:
    return any(mentions(node, MOVERS) for node in _reached(nodes))


def _reached(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """These, and the functions and classes of the user's that they name, and so on."""
    waiting, seen = [*nodes], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        parts = (part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))
        waiting += _defined({name_of(part) for part in parts})


def _defined(names: set[str]) -> list[ast.AST]:
    """Functions, methods and classes of these names; what Python calls by itself is no name of theirs."""
    return [
        node
        for tree in user_trees()
        for node in nodes_of(tree)
        if isinstance(node, Function | ast.ClassDef) and node.name in names and not node.name.startswith("__")
    ]
