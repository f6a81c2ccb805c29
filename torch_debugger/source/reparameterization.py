"""Where the source multiplies a deviation with noise, and where that deviation is written."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_debugger.records import SAMPLING_ORDERS, Place, WrittenSampling
from torch_debugger.source.files import covers, model_sources, nodes_of, place_at, tree_of
from torch_debugger.source.statements import function_around, last_assignment
from torch_debugger.source.syntax import FunctionNode, argument_of, called_name, calls_in, parameters

if TYPE_CHECKING:
    from torch import nn

_SQUARES = (".pow(2", "** 2", "square(", "torch.pow(")
_HOPS = 4


def written_sampling(models: Sequence[nn.Module], file: str | None, order: str) -> WrittenSampling:
    """The only one in the models' classes, else in their files and the loss's; of several, the one to which
    more than a number is added."""
    classes = model_sources(models)
    trees = _trees(models, file)
    sites = [site for path, tree in trees for site in SITES[order](path, tree)]
    sums = {id(side) for _, tree in trees for node in nodes_of(tree) for side in added_to(node)}
    added = [site for site in sites if site.parts or id(site.node) in sums]
    inside = [
        site for site in sites if any(path == site.file and covers(kind, site.node.lineno) for path, kind in classes)
    ]
    both = [site for site in inside if site in added]
    chosen = next((found for found in (both, added, inside, sites) if len(found) == 1), None)
    return _written(chosen[0]) if chosen is not None else WrittenSampling()


def divergence_line(models: Sequence[nn.Module], file: str | None) -> Place:
    """The only statement with a 1, a square and a logarithm, as a divergence to the standard normal has."""
    statements = [
        (path, node)
        for path, tree in _trees(models, file)
        for node in nodes_of(tree)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return)) and _has_form(node)
    ]
    return place_at(statements[0][0], statements[0][1].lineno) if len(statements) == 1 else Place()


def _has_form(statement: ast.stmt) -> bool:
    text = ast.unparse(statement)
    sums = [part for part in ast.walk(statement) if isinstance(part, ast.BinOp)]
    ones = [side for part in sums for side in (part.left, part.right) if _is_one(side)]
    return bool(ones) and any(each in text for each in _SQUARES) and "log" in text


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _trees(models: Sequence[nn.Module], file: str | None) -> list[tuple[str, ast.Module]]:
    files = dict.fromkeys([*(path for path, _ in model_sources(models)), *([file] if file else [])])
    return [(path, tree) for path in files if (tree := tree_of(path)) is not None]


def _written(site: SamplingSite) -> WrittenSampling:
    place, noise = place_at(site.file, site.node.lineno), place_at(site.file, site.noise.lineno)
    drawn = ast.unparse(site.noise.func)
    if site.parts:
        whole = _segment(site.file, site.node)
        parts = tuple(ast.unparse(part) for part in site.parts)
        return WrittenSampling(place, noise=drawn, noise_place=noise, around=whole, parts=parts)
    deviation = _source_of(site.deviation, site.tree)
    around = _segment(site.file, deviation)
    return WrittenSampling(place, ast.unparse(deviation), place_at(site.file, deviation.lineno), around, drawn, noise)


def _segment(file: str, node: ast.expr) -> tuple[str, ...]:
    """What stands before and behind an expression in its line; empty where it has several lines."""
    line = linecache.getline(file, node.lineno)
    if node.end_lineno != node.lineno or not line or not line.isascii():
        return ()
    return line[: node.col_offset].lstrip(), line[node.end_col_offset :].rstrip()


def _source_of(node: ast.expr, tree: ast.Module) -> ast.expr:
    """The expression behind a variable, or what a function is called with for it."""
    for _ in range(_HOPS):
        further = _behind(node, tree) if isinstance(node, ast.Name) else None
        if further is None:
            break
        node = further
    return node


def _behind(node: ast.Name, tree: ast.Module) -> ast.expr | None:
    made = last_assignment(tree, node.lineno, node.id)
    if made is not None:
        return made.value if _is_arithmetic(made.value) and _uses(tree, node) == 1 else None
    scope = function_around(tree, node.lineno)
    if not isinstance(scope, FunctionNode) or "log" in node.id.lower():
        return None
    if node.id not in parameters(scope):
        return None
    calls = calls_in(tree, scope.name)
    return argument_of(calls[0], scope, node.id) if len(calls) == 1 else None


def _uses(tree: ast.Module, name: ast.Name) -> int:
    """In its function: what else reads a variable may need it as it is. Noise is drawn of its shape alone."""
    scope = function_around(tree, name.lineno)
    likes = [call for call in calls_in(scope) if called_name(call).endswith("_like")]
    of_shape = {id(part) for call in likes for part in call.args}
    names = (each for each in ast.walk(scope) if isinstance(each, ast.Name) and each.id == name.id)
    return sum(isinstance(each.ctx, ast.Load) and id(each) not in of_shape for each in names)


def _is_arithmetic(node: ast.expr) -> bool:
    """Of one tensor: no call of a layer."""
    match node:
        case ast.Name() | ast.BinOp():
            return True
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in ("exp", "sqrt", "mul", "div", "softplus", "sigmoid", "pow", "square", "abs", "exp_")
    return False


# Where a source file draws noise and multiplies or adds it: the places that a sampling may be written at.
_NOISE = (
    "rand", "rand_like", "randn", "randn_like", "normal", "normal_", "uniform_", "standard_normal", "sample",
)  # fmt: skip


@dataclass(frozen=True)
class SamplingSite:
    file: str
    tree: ast.Module
    node: ast.expr  # the product, or the whole sum
    deviation: ast.expr
    noise: ast.Call
    parts: tuple[ast.expr, ...] = ()  # mean, deviation, noise


def _products(file: str, tree: ast.Module) -> Iterator[SamplingSite]:
    """deviation * noise"""
    for node in nodes_of(tree):
        for first, second in _pairs(node, ast.Mult):
            noise = _noise_in(first, tree)
            if noise is not None and isinstance(node, ast.expr) and not isinstance(second, ast.Constant | ast.Tuple):
                yield SamplingSite(file, tree, node, second, noise)


def _scaled_means(file: str, tree: ast.Module) -> Iterator[SamplingSite]:
    """mean * deviation + noise"""
    for node in nodes_of(tree):
        for first, second in _pairs(node, ast.Add):
            noise, factors = _noise_in(first, tree), _pairs(second, ast.Mult)[:1]
            if noise is not None and isinstance(node, ast.expr):
                for mean, deviation in factors:
                    yield SamplingSite(file, tree, node, second, noise, _by_name(mean, deviation, first))


def _exchanged(file: str, tree: ast.Module) -> Iterator[SamplingSite]:
    """mean * noise + deviation"""
    for node in nodes_of(tree):
        for deviation, product in _pairs(node, ast.Add):
            for drawn, mean in _pairs(product, ast.Mult):
                noise = _noise_in(drawn, tree)
                if noise is None or not isinstance(node, ast.expr):
                    continue
                if not any(isinstance(each, ast.Constant) for each in (mean, deviation)):
                    yield SamplingSite(file, tree, node, deviation, noise, (mean, deviation, drawn))


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
