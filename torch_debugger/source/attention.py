"""Attention written out by hand, in the source: what it is made of, and whether its weights go elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_debugger.records import Place
from torch_debugger.source.files import covers, model_sources, nodes_of, place_at, tree_of
from torch_debugger.source.statements import function_around
from torch_debugger.source.syntax import called_method, called_name, calls_in

if TYPE_CHECKING:
    from torch import nn

_PRODUCTS, _TURNS = ("matmul", "bmm"), ("transpose", "permute", "mT", "T")


@dataclass(frozen=True)
class WrittenAttention:
    """Names in the user's source; empty where it is written in another way."""

    queries: str = ""
    keys: str = ""
    values: str = ""


def attention_at(softmax: Place) -> WrittenAttention | None:
    """Of a line that takes the softmax; None where its weights go elsewhere than into one product."""
    tree = tree_of(softmax.file)
    if tree is None or not softmax.line:
        return None
    function = function_around(tree, softmax.line)
    above = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    weights = _assigned_at(function, softmax.line)
    if weights is None:
        return None
    uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == weights]
    uses = [use for use in uses if isinstance(use.ctx, ast.Load) and use.lineno > softmax.line]
    if weights and not all(_is_of_attention(use, above) for use in uses):
        return None
    queries, keys, values = "", "", ""
    for left, right in _products(function):
        turned = right.func if isinstance(right, ast.Call) else right  # q @ k.transpose(-2, -1), matmul(q, k.mT)
        match left, turned:
            case ast.Name(id=first), ast.Attribute(
                value=ast.Name(id=second), attr="transpose" | "permute" | "mT" | "T"
            ):
                queries, keys = (queries, keys) if queries else (first, second)
        text = ast.unparse(left)
        if not values and isinstance(right, ast.Name) and (weights in text if weights else "softmax" in text.lower()):
            values = right.id
    return WrittenAttention(queries, keys, values)


def _products(function: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in ast.walk(function):
        match node:
            case (
                ast.BinOp(left=left, op=ast.MatMult(), right=right)
                | ast.Call(func=ast.Attribute(attr="matmul" | "bmm"), args=[left, right])
            ):
                yield left, right


def _assigned_at(function: ast.AST, line: int) -> str | None:
    """The variable that the line fills; empty where the product stands there too, None where it is another."""
    statements = [node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.Return))]
    around = [node for node in statements if covers(node, line)]
    if not around:
        return None
    statement = max(around, key=lambda node: node.lineno)
    if isinstance(statement.value, ast.Tuple):
        return None
    if statement.value is not None and any(_is_product(node) for node in _outermost(statement.value)):
        return ""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return None


def _outermost(value: ast.expr) -> Iterator[ast.expr]:
    """The expression itself, and what it is called on: (w @ v).transpose(1, 2); not what the softmax is of."""
    yield value
    while isinstance(value, (ast.Call, ast.Attribute)):
        value = value.func if isinstance(value, ast.Call) else value.value
        if isinstance(value, ast.Attribute) and value.attr == "softmax":
            return
        yield value


def _is_product(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return called_name(node) in _PRODUCTS
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


def _is_of_attention(use: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """In the product with the values, or in a dropout in front of it."""
    node = above.get(use)
    while node and (
        isinstance(node, ast.Attribute) or called_method(node) in ("to", "type_as", "float", "half", "type")
    ):
        node = above.get(node)
    if isinstance(node, ast.Call) and "drop" in ast.unparse(node.func).lower():
        return True
    return node is not None and _is_product(node)


# Which line of the user's takes a softmax over a given dimension.
def softmax_call(modules: Sequence[nn.Module], file: str | None, dim: int, rank: int) -> Place | None:
    """The one call over this dimension in the models' classes, else in the file that calls backward()."""

    def calls(path: str, part: ast.AST) -> set[Place]:
        found = calls_in(part, "softmax", "Softmax")
        return {place_at(path, call.lineno) for call in found if _dim_of(call, rank) == dim}

    found = _in_classes_or_file(modules, file, calls)
    return found.pop() if len(found) == 1 else None


def _in_classes_or_file(
    modules: Sequence[nn.Module], file: str | None, search: Callable[[str, ast.AST], set[Place]]
) -> set[Place]:
    found = {place for path, part in model_sources(modules) for place in search(path, part)}
    tree = tree_of(file)
    return found or (search(file, tree) if file and tree is not None else set())


def _dim_of(call: ast.Call, rank: int) -> int | None:
    """As it is written: a keyword, or a number among the arguments. Without one torch has its own choice."""
    arguments = [word.value for word in call.keywords if word.arg in ("dim", "axis")] + call.args
    for node in arguments:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError):
            continue
        if type(value) is int:
            return value % rank
    return None if any(word.arg in ("dim", "axis") for word in call.keywords) else (0 if rank in (1, 3) else 1)


# The line that multiplies with a mask: scores * mask, scores.mul(mask), scores *= mask.
_MASK = re.compile(r"mask|adj|valid|pad|allowed|legal|keep", re.IGNORECASE)


def mask_product(modules: Sequence[nn.Module], file: str | None, softmax: Place | None) -> Place | None:
    """The nearest one above the softmax, or in its line; without a softmax, the only one there is."""
    found = _in_classes_or_file(modules, file, _mask_products)
    if softmax is None:
        return found.pop() if len(found) == 1 else None
    above = [place for place in found if place.file == softmax.file and _line(place) <= _line(softmax)]
    return max(above, key=_line) if above else None


def _mask_products(file: str, tree: ast.AST) -> set[Place]:
    lines = set()
    for node in nodes_of(tree):
        factors: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            factors = [node.left, node.right]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
            factors = [node.value]
        elif isinstance(node, ast.Call) and called_method(node) in ("mul", "mul_", "multiply"):
            factors = list(node.args)
        if isinstance(node, (ast.expr, ast.stmt)) and any(_MASK.search(ast.unparse(each)) for each in factors):
            lines.add(node.lineno)
    return {place_at(file, line) for line in lines}


def _line(place: Place) -> int:
    return place.line or 0
