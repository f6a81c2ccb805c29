"""Statements of the user's that write into a tensor: `h += x`, `h[:, 0] = 0`, `h.mul_(2)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.probes.examiners.user_scope import calls_in

_OPERATORS = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div", ast.Pow: "Pow"}
_SLICES = "CopySlices"
_NO_WRITES = ("requires_grad_", "retain_grad_", "share_memory_")
_COMPOUND = (
    ast.For, ast.While, ast.With, ast.If, ast.Try, ast.AsyncFor, ast.AsyncWith,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip


@dataclass(frozen=True)
class SourceWrite:
    node: ast.stmt
    target: ast.expr  # what is written: h, h[:, 0], h.view(-1)
    operation: str  # as the graph calls it: Add, CopySlices, MaskedFill


def writes_in(node: ast.stmt) -> list[SourceWrite]:
    """The writes of one statement; those of a compound one stand in its body."""
    if isinstance(node, _COMPOUND):
        return []
    return [SourceWrite(node, target, operation) for target, operation in _writes(node)]


def _writes(node: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node, ast.AugAssign):
        inside = isinstance(node.target, ast.Subscript)
        yield node.target, _SLICES if inside else _OPERATORS.get(type(node.op), "")
    if isinstance(node, ast.Assign):
        yield from ((target, _SLICES) for target in node.targets if isinstance(target, ast.Subscript))
    for call in calls_in(node):
        yield from _written_by(call)


def _written_by(call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    in_place = [word for word in call.keywords if word.arg == "inplace" and _is_true(word.value)]
    if in_place and call.args:
        yield call.args[0], _camel(name)
    elif name.endswith("_") and not name.endswith("__") and name not in _NO_WRITES:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_function = owner is None or ast.unparse(owner) in ("torch", "F", "nn.init", "init", "torch.nn.init")
        target = (call.args[0] if call.args else None) if is_function else owner
        if target is not None:
            part = target is owner and isinstance(target, ast.Subscript | ast.Call)
            yield target, _SLICES if part else _camel(name)


def owners_of(node: ast.expr) -> Iterator[ast.expr]:
    """h.view(-1)[0], h.view(-1), h: an expression, then what it is a part or a form of."""
    while True:
        yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        else:
            return


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.strip("_").split("_"))


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
