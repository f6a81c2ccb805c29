"""The lookup that raised: what was indexed, with what, and which values it takes."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.anatomy.sources import tree_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.crash_operands import UnknownValueError, is_plain_tensor, value_of
from torch_debugger.probes.crash_source import failing_expression
from torch_debugger.probes.examiners.scene import Scene

_FUNCTIONAL = os.path.join("torch", "nn", "functional.py")
LABELS = ("cross_entropy", "nll_loss", "multi_margin_loss")
_TABLES = ("embedding", "embedding_bag")
_ALONG = (
    "gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_",
    "index_select", "index_add", "index_add_", "index_copy", "index_copy_",
)  # fmt: skip
_LIBRARIES = ("torch", "F", "torch.nn.functional", "nn.functional", "functional")


@dataclass(frozen=True)
class Lookup:
    """Integers that choose from `size` things, numbered from 0."""

    operation: str
    indices: torch.Tensor
    size: int
    allowed: int = 0
    table: torch.Tensor | None = None
    dimension: int | None = None
    ignored: int | None = None
    expression: str = ""
    index_name: str = ""
    table_name: str = ""


def lookups_of(scene: Scene) -> Iterator[Lookup]:
    """What the crash may have looked up: in a function of torch's, else in the user's own expression."""
    innermost = scene.innermost
    if innermost is None:
        return
    if innermost.user:
        yield from _written(innermost)
    elif innermost.file.endswith(_FUNCTIONAL):
        yield from _given(scene, innermost)


def _given(scene: Scene, seen: Seen) -> Iterator[Lookup]:
    held = seen.frame.f_locals
    given, weight, target = held.get("input"), held.get("weight"), held.get("target")
    if seen.function in _TABLES and torch.is_tensor(weight):
        outer = scene.frame_of("forward", os.path.join("modules", "sparse.py"))
        indices = outer.frame.f_locals.get("input") if outer is not None else given
        if is_plain_tensor(indices):
            name = _name_of(scene, indices)
            yield Lookup(seen.function, indices, weight.shape[0], 0, weight, 0, index_name=name)
    if seen.function in LABELS and torch.is_tensor(given) and is_plain_tensor(target):
        classes = given.shape[1 if given.dim() > 1 else 0]
        yield Lookup(seen.function, target, classes, 0, given, 1, held.get("ignore_index"))


def _name_of(scene: Scene, indices: torch.Tensor) -> str:
    """The first argument of the user's call, if that is what arrived."""
    user = scene.user_frame
    if user is None:
        return ""
    for node in raising_expressions(user):
        given = node.args[0] if isinstance(node, ast.Call) and node.args else None
        if given is not None and _is_value(given, user, indices):
            return ast.unparse(given)
    return ""


def _is_value(node: ast.expr, seen: Seen, tensor: torch.Tensor) -> bool:
    try:
        value = value_of(node, seen.frame)
    except UnknownValueError:
        return False
    return is_plain_tensor(value) and torch.equal(value, tensor)


def raising_expressions(seen: Seen) -> list[ast.expr]:
    """The expressions that may have raised: the one that did, or all of the line where Python cannot tell."""
    tree = tree_of(seen.file)
    failing = failing_expression(seen.frame.f_code, seen.instruction)
    on_line = [
        node
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.expr) and node.lineno <= seen.line <= (node.end_lineno or 0)
    ]
    return [node for node in on_line if not failing or ast.unparse(node) == failing]


def _written(seen: Seen) -> Iterator[Lookup]:
    for node in raising_expressions(seen):
        try:
            if isinstance(node, ast.Subscript):
                yield from _brackets(seen, node)
            elif isinstance(node, ast.Call):
                yield from _called(seen, node)
        except UnknownValueError:
            continue


def _brackets(seen: Seen, node: ast.Subscript) -> Iterator[Lookup]:
    table, place = value_of(node.value, seen.frame), 0
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not torch.is_tensor(table):
        return
    for part in parts:
        if isinstance(part, ast.Slice):
            place += 1
            continue
        value = value_of(part, seen.frame)
        if value is None or value is Ellipsis or place >= table.dim():
            place = place if value is None else table.dim() - (len(parts) - parts.index(part) - 1)
            continue
        size, indices = table.shape[place], _as_indices(value)
        names = ast.unparse(node), ast.unparse(part), ast.unparse(node.value)
        if indices is not None:
            yield Lookup("[]", indices, size, -size, table, place, None, *names)
        place += value.dim() if torch.is_tensor(value) and value.dtype is torch.bool else 1


def _as_indices(value: Any) -> torch.Tensor | None:
    if type(value) is int or (type(value) is list and value and all(type(item) is int for item in value)):
        return torch.tensor(value)
    whole = is_plain_tensor(value) and not value.is_floating_point() and value.dtype is not torch.bool
    return value if whole else None


def _called(seen: Seen, node: ast.Call) -> Iterator[Lookup]:
    if not isinstance(node.func, ast.Attribute | ast.Name):
        return
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    operands = list(node.args)
    if owner is not None and ast.unparse(owner) not in _LIBRARIES:
        operands.insert(0, owner)
    named = {word.arg: word.value for word in node.keywords}
    if name == "one_hot" and operands:
        yield from _one_hot(seen, node, operands, named.get("num_classes"))
    elif name in _ALONG and operands:
        dimension = named.get("dim") or (operands[1] if len(operands) > 1 else None)
        index = named.get("index") or (operands[2] if len(operands) > 2 else None)
        if dimension is not None and index is not None:
            yield from _along(seen, node, name, operands[0], dimension, index)


def _one_hot(seen: Seen, node: ast.Call, operands: list[ast.expr], named: ast.expr | None) -> Iterator[Lookup]:
    indices, classes = value_of(operands[0], seen.frame), named or (operands[1] if operands[1:] else None)
    size = value_of(classes, seen.frame) if classes is not None else -1
    if not is_plain_tensor(indices) or type(size) is not int or not indices.numel():
        return
    size = size if size > 0 else int(indices.max()) + 1
    yield Lookup("one_hot", indices, size, expression=ast.unparse(node), index_name=ast.unparse(operands[0]))


def _along(
    seen: Seen, node: ast.Call, name: str, owner: ast.expr, along: ast.expr, index: ast.expr
) -> Iterator[Lookup]:
    table, place, indices = (value_of(part, seen.frame) for part in (owner, along, index))
    if not torch.is_tensor(table) or not is_plain_tensor(indices) or type(place) is not int or not table.dim():
        return
    place %= table.dim()
    names = ast.unparse(node), ast.unparse(index), ast.unparse(owner)
    yield Lookup(name, indices, table.shape[place], 0, table, place, None, *names)
