"""Calls of some functions in the classes that a model is made of, and the sizes written in a view()."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torch import nn

from torch_debugger.anatomy.sources import class_source, place_at
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
        sizes = _sizes(call)
        fits = len(sizes) == len(after) and all(
            _fits(size, number, module) for size, number in zip(sizes, after, strict=True)
        )
        if fits and (products or not any(_is_product(size) for size in sizes)):
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


def _sizes(call: ast.Call) -> list[ast.expr]:
    """x.view(a, b, c), x.view((a, b, c)), torch.reshape(x, (a, b, c))"""
    last = call.args[-1] if call.args else None
    return list(last.elts) if isinstance(last, (ast.Tuple, ast.List)) else call.args


def _fits(size: ast.expr, number: int, module: nn.Module) -> bool:
    written = _number(size, module)
    return written is None or written in (-1, number)


def _number(size: ast.expr, module: nn.Module) -> int | None:
    """-1, 3 or self.heads; None where it cannot be told."""
    try:
        value = ast.literal_eval(size)
    except (ValueError, TypeError):
        of_self = (
            isinstance(size, ast.Attribute) and isinstance(size.value, ast.Name) and size.value.id == "self"
        )
        value = getattr(module, size.attr, None) if of_self and isinstance(size, ast.Attribute) else None
    return value if isinstance(value, int) else None


def _is_product(size: ast.expr) -> bool:
    return isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult)
