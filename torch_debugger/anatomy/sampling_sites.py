"""Where a source file draws noise and multiplies or adds it: the places that a sampling may be written at."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.anatomy.sources import nodes_of
from torch_debugger.anatomy.statements import last_assignment
from torch_debugger.records import SAMPLING_ORDERS

_NOISE = (
    "rand", "rand_like", "randn", "randn_like", "normal", "normal_", "uniform_", "standard_normal", "sample",
)  # fmt: skip


@dataclass(frozen=True)
class Site:
    file: str
    tree: ast.Module
    node: ast.expr  # the product, or the whole sum
    deviation: ast.expr
    noise: ast.Call
    parts: tuple[ast.expr, ...] = ()  # mean, deviation, noise


def _products(file: str, tree: ast.Module) -> Iterator[Site]:
    """deviation * noise"""
    for node in nodes_of(tree):
        for first, second in _pairs(node, ast.Mult):
            noise = _noise_in(first, tree)
            if (
                noise is not None
                and isinstance(node, ast.expr)
                and not isinstance(second, ast.Constant | ast.Tuple)
            ):
                yield Site(file, tree, node, second, noise)


def _scaled_means(file: str, tree: ast.Module) -> Iterator[Site]:
    """mean * deviation + noise"""
    for node in nodes_of(tree):
        for first, second in _pairs(node, ast.Add):
            noise, factors = _noise_in(first, tree), _pairs(second, ast.Mult)[:1]
            if noise is not None and isinstance(node, ast.expr):
                for mean, deviation in factors:
                    yield Site(file, tree, node, second, noise, _by_name(mean, deviation, first))


def _exchanged(file: str, tree: ast.Module) -> Iterator[Site]:
    """mean * noise + deviation"""
    for node in nodes_of(tree):
        for deviation, product in _pairs(node, ast.Add):
            for drawn, mean in _pairs(product, ast.Mult):
                noise = _noise_in(drawn, tree)
                if noise is None or not isinstance(node, ast.expr):
                    continue
                if not any(isinstance(each, ast.Constant) for each in (mean, deviation)):
                    yield Site(file, tree, node, deviation, noise, (mean, deviation, drawn))


def _by_name(first: ast.expr, second: ast.expr, noise: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr]:
    named = ast.unparse(first).lower()
    is_deviation = "mean" not in named and re.search(r"std|sig|dev|scale|var|exp", named) is not None
    return (second, first, noise) if is_deviation else (first, second, noise)


SITES = dict(zip(SAMPLING_ORDERS, (_products, _scaled_means, _exchanged), strict=True))


def added_to(node: ast.AST) -> list[ast.expr]:
    return [second for first, second in _pairs(node, ast.Add) if not isinstance(first, ast.Constant)]


def _pairs(node: ast.AST, kind: type[ast.operator]) -> list[tuple[ast.expr, ast.expr]]:
    """Both sides of a product or a sum, by an operator or by a method; and those of addcmul()."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, kind):
        return [(node.left, node.right), (node.right, node.left)]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    name, names = node.func.attr, {ast.Mult: ("mul", "mul_"), ast.Add: ("add", "add_")}[kind]
    if name in names and len(node.args) == 1:
        return [(node.func.value, node.args[0]), (node.args[0], node.func.value)]
    if name == "addcmul" and kind is ast.Mult and len(node.args) >= 2:
        first, second = node.args[-2:]
        return [(first, second), (second, first)]
    return []


def _noise_in(node: ast.expr, tree: ast.Module, hops: int = 2) -> ast.Call | None:
    """The call that draws it: itself, behind methods (`torch.randn(...).to(device)`), or of a variable."""
    match node:
        case ast.Name(id=name) if hops:
            made = last_assignment(tree, node.lineno, name)
            return _noise_in(made.value, tree, hops - 1) if made is not None else None
        case ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called)) if called in _NOISE:
            return node
        case ast.Call(func=ast.Attribute(value=inner)) if not isinstance(inner, ast.Name) or not node.args:
            return _noise_in(inner, tree, hops)
        case ast.Call(args=[inner]):
            return _noise_in(inner, tree, hops)
    return None
