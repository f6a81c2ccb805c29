"""Calls of some functions in the classes that a model is made of, and the sizes written in a view()."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torch import nn

from torch_debugger.anatomy.kinds import own_attributes
from torch_debugger.anatomy.sources import class_source, place_at
from torch_debugger.anatomy.view_calls import can_make, written_sizes
from torch_debugger.records import Place

Shape = tuple[int, ...]


def first_call(modules: Iterable[nn.Module], names: tuple[str, ...]) -> Place:
    """The first call of one of these functions, by its line; an empty place where there is none."""
    places = [place_at(file, call.lineno) for _, file, call in _calls(modules, names)]
    return min(places, key=lambda place: place.line or 0) if places else Place()


def call_with_sizes(modules: Iterable[nn.Module], after: Shape, products: bool) -> Place:
    """The first view() or reshape() that can have made this shape. Without `products` none of its sizes
    may be one: x.view(steps, batch * heads, size) moves nothing, whatever the numbers happen to be."""
    for module, file, call in _calls(modules, ("view", "reshape")):
        own = {f"self.{name}": value for name, value in own_attributes(module).items()}
        plain = products or not any(_is_product(size) for size in written_sizes(call))
        if plain and can_make(call, after, own.get):
            return place_at(file, call.lineno)
    return Place()


def _calls(modules: Iterable[nn.Module], names: tuple[str, ...]) -> Iterator[tuple[nn.Module, str, ast.Call]]:
    owners = {type(part): part for module in modules for part in module.modules()}
    for cls, part in owners.items():
        source = class_source(cls)
        for node in ast.walk(source[1]) if source is not None else ():
            if isinstance(node, ast.Call) and _name(node.func) in names and source is not None:
                yield part, source[0], node


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_product(size: ast.expr) -> bool:
    return isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult)
