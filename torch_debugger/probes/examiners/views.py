"""A view that failed: of which tensor, and the part of the source that reordered it."""

from __future__ import annotations

import ast
from typing import Any

import torch

from torch_debugger.anatomy.assignments import assignment_of
from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.crash_operands import UnknownValueError, value_of
from torch_debugger.probes.examiners.lookups import raising_expressions
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.layouts import ViewEvidence

_REORDERING = frozenset({
    "permute", "transpose", "t", "swapaxes", "swapdims", "movedim", "moveaxis", "expand", "expand_as", "unfold",
})  # fmt: skip
_TURNED = ("T", "mT")
_COPIES = ("contiguous", "reshape", "view", "flatten", "reshape_as", "repeat", "matmul", "mm", "bmm")
_HOPS = 4


def examine_view(scene: Scene) -> ViewEvidence | None:
    seen = scene.innermost
    if seen is None or not seen.user or not isinstance(scene.error, RuntimeError):
        return None
    if not str(scene.error).startswith("view size is not compatible with input tensor's size and stride"):
        return None
    found = [fact for node in raising_expressions(seen) if (fact := _failed_view(seen, node)) is not None]
    return found[0] if len(found) == 1 else None


def _failed_view(seen: Seen, node: ast.expr) -> ViewEvidence | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr not in ("view", "view_as"):
        return None
    given, asked = node.func.value, _sizes(seen, node)
    tensor = _tensor(seen, given)
    if tensor is not None and not _refuses(tensor, asked):
        return None
    operation, made = _reordered(seen, given)
    if tensor is None and not operation:
        return None
    names = ast.unparse(node), ast.unparse(given)
    if tensor is None:
        return ViewEvidence(*names, None, asked, operation, made)
    channels_last = tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    return ViewEvidence(*names, tuple(tensor.shape), asked, operation, made, channels_last)


def _sizes(seen: Seen, node: ast.Call) -> tuple[int, ...] | None:
    try:
        given = [value_of(item, seen.frame) for item in node.args]
    except UnknownValueError:
        return None
    if len(given) == 1 and not is_a(given[0], int):
        given = list(given[0].shape if torch.is_tensor(given[0]) else given[0])
    plain = not node.keywords and all(type(size) is int for size in given)
    return tuple(given) if plain and given else None


def _tensor(seen: Seen, node: ast.expr) -> torch.Tensor | None:
    """The tensor an expression stands for, on whatever device: reordering it again moves nothing."""
    value = _value(seen, node)
    if (
        value is None
        and isinstance(node, ast.Call)
        and _reorders(node)
        and isinstance(node.func, ast.Attribute)
    ):
        inner, numbers = _tensor(seen, node.func.value), [_value(seen, item) for item in node.args]
        if inner is not None and None not in numbers and not node.keywords:
            value = getattr(inner.detach(), node.func.attr)(*numbers)
    plain = is_one_of(value, (torch.Tensor, torch.nn.Parameter)) and value.layout is torch.strided
    return value if plain else None


def _value(seen: Seen, node: ast.expr) -> Any:
    try:
        return value_of(node, seen.frame)
    except UnknownValueError:
        return None


def _refuses(tensor: torch.Tensor, asked: tuple[int, ...] | None) -> bool:
    """Whether it is its order in memory that forbids the view; asking touches no element."""
    if asked is None:
        return not tensor.is_contiguous()
    try:
        tensor.detach().view(asked)
    except RuntimeError as error:
        return not tensor.is_contiguous() and "size and stride" in str(error)
    return False


def _reordered(seen: Seen, node: ast.expr, line: int = 0, hops: int = _HOPS) -> tuple[str, Place]:
    """The call that reordered a tensor: in the expression itself, or where its name was given a value."""
    if _reorders(node):
        return ast.unparse(node), Place()
    if isinstance(node, ast.Name) and hops:
        found = assignment_of(seen.file, line or seen.line, node.id)
        made = found.place if found is not None else Place()
        value = _assigned_value(made)
        if value is None or made.line is None or made.line >= (line or seen.line):
            return "", Place()
        operation, earlier = _reordered(seen, value, made.line, hops - 1)
        return operation, (earlier if earlier.line or not operation else made)
    kept = _receiver(node)
    return _reordered(seen, kept, line, hops) if kept is not None else ("", Place())


def _reorders(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _REORDERING
    return isinstance(node, ast.Attribute) and node.attr in _TURNED


def _assigned_value(place: Place) -> ast.expr | None:
    try:
        body = ast.parse((place.code or "").replace("\n", " ")).body
    except SyntaxError:
        return None
    plain = len(body) == 1 and isinstance(body[0], ast.Assign) and isinstance(body[0].targets[0], ast.Name)
    return body[0].value if plain and isinstance(body[0], ast.Assign) else None


def _receiver(node: ast.expr) -> ast.expr | None:
    """What x.eq(y), x[:k] and x * 2 took over the order in memory from."""
    if isinstance(node, ast.Subscript):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr not in _COPIES else None
    return node.left if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult) else None
