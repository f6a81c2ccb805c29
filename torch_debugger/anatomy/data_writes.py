"""Lines that write values where autograd does not look: through `.data`."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place


@dataclass(frozen=True)
class DataWrite:
    place: Place
    target: str  # model.fc.weight of model.fc.weight.data.mul_(0.9)


def data_writes(files: tuple[str, ...]) -> tuple[DataWrite, ...]:
    """All of them; most programs have none."""
    named = (file for file in files if any(".data" in line for line in linecache.getlines(file)))
    return tuple(write for file in named if (tree := tree_of(file)) for write in _writes(file, tree))


def touched_between(write: Place, backward: Place) -> frozenset[str]:
    """Names that are bound, or whose tensors may be written in place, from one line to just before another."""
    tree = tree_of(write.file) if write.file else None
    first, last = write.line or 0, backward.line or 0
    return frozenset(
        name
        for node in (nodes_of(tree) if tree is not None else ())
        if first <= getattr(node, "lineno", 0) < last
        for name in _touched(node)
    )


def _touched(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
            yield name
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=arguments) if _is_in_place(method):
            yield from (each.id for each in (owner, *arguments[:1]) if isinstance(each, ast.Name))


def write_before(backward: Place, writes: tuple[DataWrite, ...]) -> DataWrite | None:
    """The last one above backward() in its own function; else the only one there is."""
    tree = tree_of(backward.file) if backward.file and backward.line else None
    if tree is not None:
        around = function_around(tree, backward.line or 0)
        first = getattr(around, "lineno", 0)
        own = [
            write
            for write in writes
            if write.place.file == backward.file and first <= (write.place.line or 0) < (backward.line or 0)
            if function_around(tree, write.place.line or 0) is around
        ]
        if own:
            return max(own, key=lambda write: write.place.line or 0)
    return writes[0] if len(writes) == 1 else None


@functools.lru_cache(maxsize=64)
def _writes(file: str, tree: ast.Module) -> tuple[DataWrite, ...]:
    found = [
        DataWrite(place_at(file, node.lineno), ast.unparse(owner))
        for node in nodes_of(tree)
        if isinstance(node, ast.stmt | ast.expr)
        for target in _written(node)
        if (owner := _owner(target)) is not None
    ]
    return tuple(found)


def _written(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            yield from targets
        case ast.AugAssign(target=target):
            yield target
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if _is_in_place(method):
            yield value
            yield from node.args[:1]  # init.normal_(p.data)


def _is_in_place(method: str) -> bool:
    return method.endswith("_") and not method.endswith("__") and method != "requires_grad_"


def _owner(written: ast.expr) -> ast.expr | None:
    """p of p.data, p.data[0] and p.data.view(-1)"""
    part = written
    while True:
        match part:
            case ast.Attribute(value=value, attr="data"):
                return value
            case ast.Subscript(value=value) | ast.Attribute(value=value) | ast.Call(func=value):
                part = value
            case _:
                return None
