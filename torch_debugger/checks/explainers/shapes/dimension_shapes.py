"""A dimension that a tensor does not have: mean(dim=2), permute, x[:, :, 0], b, c, h, w = x.shape."""

from __future__ import annotations

import ast
import math

from torch_debugger.checks.explainers.blame import (
    Blame,
    place_text,
    shape_text,
    tensor_evidence,
    user_frame,
)
from torch_debugger.checks.explainers.calls import parse_statement
from torch_debugger.checks.explainers.expressions import Line, called, explain_nodes, number
from torch_debugger.records import CrashFact, LocalTensor

_WHY = "Dimensions are numbered from 0, or from -1 backwards; a tensor has as many as its shape has sizes."


def explain_dimensions(crash: CrashFact) -> Blame | None:
    return explain_nodes(
        crash, lambda line, node: _judge(crash, line, node), kinds=("IndexError", "RuntimeError")
    ) or _unpacked(crash)


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    if isinstance(node, ast.Subscript):
        return _brackets(crash, line, node)
    name, operands = called(node)
    tensor = line.tensor(operands[0]) if isinstance(node, ast.Call) and operands else None
    if tensor is None or not isinstance(node, ast.Call):
        return None
    if name == "permute" and "number of dimensions" in crash.message:
        given = operands[1:] if len(operands) != 2 else list(getattr(operands[1], "elts", operands[1:]))
        wanted = f"names {len(given)} dimensions"
        return (
            _blame(crash, line, node, tensor, wanted, len(given)) if len(given) != len(tensor.shape) else None
        )
    if not crash.message.startswith("Dimension out of range"):
        return None
    asked = [place for place in _dimensions(node, operands) if not _has(tensor, place)]
    return _blame(crash, line, node, tensor, f"asks for dimension {asked[0]}", asked[0] + 1) if asked else None


def _dimensions(node: ast.Call, operands: list[ast.expr]) -> list[int]:
    """The numbers a call names dimensions by."""
    words = [word.value for word in node.keywords if word.arg in ("dim", "axis", "dims", "dim0", "dim1")]
    written = words or operands[1:]
    flat = [
        part for item in written for part in (item.elts if isinstance(item, ast.Tuple | ast.List) else [item])
    ]
    return [value for part in flat if (value := number(part)) is not None]


def _has(tensor: LocalTensor, place: int) -> bool:
    return -len(tensor.shape) <= place < max(1, len(tensor.shape))


def _brackets(crash: CrashFact, line: Line, node: ast.Subscript) -> Blame | None:
    tensor = line.tensor(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    counted = [part for part in parts if not (isinstance(part, ast.Constant) and part.value in (None, ...))]
    if tensor is None or "too many indices" not in crash.message or len(counted) <= len(tensor.shape):
        return None
    return _blame(crash, line, node, tensor, f"picks in {len(counted)} dimensions", len(counted))


def _unpacked(crash: CrashFact) -> Blame | None:
    """b, c, h, w = x.shape"""
    frame = user_frame(crash)
    tree = parse_statement(frame.code) if frame is not None and frame is crash.frames[-1] else None
    statement = tree.body[0] if isinstance(tree, ast.Module) and tree.body else None
    if frame is None or crash.kind != "ValueError" or "to unpack" not in crash.message:
        return None
    if not isinstance(statement, ast.Assign):
        return None
    target, value, line = statement.targets[0], statement.value, Line(frame, crash.flow)
    owner = value.func if isinstance(value, ast.Call) and not value.args else value
    is_shape = isinstance(owner, ast.Attribute) and owner.attr == ("size" if owner is not value else "shape")
    tensor = line.tensor(owner.value) if is_shape and isinstance(owner, ast.Attribute) else None
    names = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    plain = names and not any(isinstance(name, ast.Starred) for name in names)
    if tensor is None or not plain or len(names) == len(tensor.shape):
        return None
    return _blame(crash, line, value, tensor, f"is taken apart into {len(names)} sizes", len(names))


def _blame(crash: CrashFact, line: Line, node: ast.expr, tensor: LocalTensor, what: str, wanted: int) -> Blame:
    rank = len(tensor.shape)
    have = f"{rank} dimension{'s' * (rank != 1)}"
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} {what}, but `{tensor.name}` is "
        f"{shape_text(tensor.shape)}, with {have}.",
        why=_WHY,
        fix=f"{_advice(crash, tensor, wanted)}.",
        where=crash.place,
        evidence=tensor_evidence(crash, tensor) | {"expected": f"{wanted} dimensions"},
        confidence=0.96,
    )


def _advice(crash: CrashFact, tensor: LocalTensor, wanted: int) -> str:
    before = next((step for step in reversed(crash.flow) if _was_flattened(step.made, tensor.shape)), None)
    if before is not None:
        return (
            f"`{tensor.name}` was flattened before: `{before.path}` gave {shape_text(before.made[0])}. Leave "
            "the flattening out, or do it after this line"
        )
    if len(tensor.shape) == wanted - 1:
        lacking = (
            f"If `{tensor.name}` lacks its batch, add it with `{tensor.name}.unsqueeze(0)` before this line"
        )
        return f"{lacking}; else use only the {len(tensor.shape)} it has"
    return f"Use only dimensions that `{tensor.name}` has, or bring it to {wanted} dimensions before this line"


def _was_flattened(made: tuple[tuple[int, ...], ...], shape: tuple[int, ...]) -> bool:
    return any(
        len(before) > len(shape) > 1 and before[0] == shape[0] and math.prod(before) == math.prod(shape)
        for before in made[:1]
    )
