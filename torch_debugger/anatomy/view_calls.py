"""Calls of view() and reshape() in the user's source, told by the sizes that are written in them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.records import Place

Shape = tuple[int, ...]


def call_in_file(file: str | None, after: Shape, numbers: dict[str, int]) -> Place:
    """The first one that can have made this shape, or that of one sample of it; `numbers` are variables."""
    tree = tree_of(file) if file else None
    for node in nodes_of(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and file is not None:
            made = node.func.attr in ("view", "reshape")
            if made and any(
                can_make(node, shape, lambda name: numbers.get(name)) for shape in (after, after[1:])
            ):
                return place_at(file, node.lineno)
    return Place()


def can_make(call: ast.Call, after: Shape, number: Callable[[str], object]) -> bool:
    """Whether the sizes in x.view(...) fit a shape; what cannot be told fits."""
    sizes = written_sizes(call)
    pairs = zip(sizes, after, strict=False)
    return len(sizes) == len(after) and all(_number(size, number) in (None, -1, real) for size, real in pairs)


def _is_told(call: ast.Call, number: Callable[[str], object], after: Shape) -> bool:
    """The same, and one of them must be known."""
    known = [_number(size, number) for size in written_sizes(call)]
    return can_make(call, after, number) and any(value not in (None, -1) for value in known)


def written_sizes(call: ast.Call) -> list[ast.expr]:
    """x.view(a, b, c), x.view((a, b, c)), torch.reshape(x, (a, b, c))"""
    last = call.args[-1] if call.args else None
    return list(last.elts) if isinstance(last, (ast.Tuple, ast.List)) else call.args


def _number(size: ast.expr, number: Callable[[str], object]) -> int | None:
    """-1, 3, a variable or self.heads; None where it cannot be told."""
    try:
        value: object = ast.literal_eval(size)
    except (ValueError, TypeError):
        value = number(ast.unparse(size))
    return value if type(value) is int else None
