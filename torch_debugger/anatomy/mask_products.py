"""The line that multiplies with a mask: scores * mask, scores.mul(mask), scores *= mask."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torch import nn

from torch_debugger.anatomy.sources import class_source, nodes_of, place_at, tree_of
from torch_debugger.records import Place

_MASK = re.compile(r"mask|adj|valid|pad|allowed|legal|keep", re.IGNORECASE)


def mask_product(modules: Sequence[nn.Module], file: str | None, softmax: Place | None) -> Place | None:
    """The nearest one above the softmax, or in its line; without a softmax, the only one there is."""
    classes = dict.fromkeys(type(child) for module in modules for child in module.modules())
    sources = [source for cls in classes if (source := class_source(cls)) is not None]
    tree = tree_of(file) if file else None
    found = {place for name, part in sources for place in _products(name, part)}
    if not found and tree is not None and file is not None:
        found = set(_products(file, tree))
    if softmax is None:
        return found.pop() if len(found) == 1 else None
    above = [place for place in found if place.file == softmax.file and _line(place) <= _line(softmax)]
    return max(above, key=_line) if above else None


def _products(file: str, tree: ast.AST) -> Iterator[Place]:
    for node in nodes_of(tree):
        factors: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            factors = [node.left, node.right]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
            factors = [node.value]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("mul", "mul_", "multiply"):
            factors = list(node.args)
        if isinstance(node, (ast.expr, ast.stmt)) and any(_MASK.search(ast.unparse(each)) for each in factors):
            yield place_at(file, node.lineno)


def _line(place: Place) -> int:
    return place.line or 0
