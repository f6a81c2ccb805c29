"""Matrix products between the user's own tensors: @, matmul, mm, bmm."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.blame import Blame, place_text, shape_text, tensor_evidence
from torch_debugger.checks.explainers.calls import rewritten, with_operand
from torch_debugger.checks.explainers.expressions import Line, called, explain_nodes, two_tensors
from torch_debugger.records import CrashFact, LocalTensor

_RANKS = {"mm": 2, "bmm": 3}


def explain_product(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node))


def product_of(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """The name and the two operands of a matrix product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return "@", [node.left, node.right]
    name, operands = called(node)
    return (name, operands) if name in ("matmul", "mm", "bmm") else ("", [])


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = product_of(node)
    tensors = two_tensors(line, operands)
    if tensors is None:
        return None
    rank = _RANKS.get(name)
    if rank is not None and any(len(tensor.shape) != rank for tensor in tensors):
        return _wrong_rank(crash, line.source(node), rank, *tensors)
    left, right = tensors
    if not left.shape or not right.shape or left.shape[-1] == _inner(right.shape):
        return None
    return _unequal(crash, line.source(node), left, right)


def _inner(shape: tuple[int, ...]) -> int:
    return shape[-2] if len(shape) > 1 else shape[0]


def _unequal(crash: CrashFact, expression: str, left: LocalTensor, right: LocalTensor) -> Blame:
    inner = _inner(right.shape)
    fix, edit = (
        f"Bring the last dimension of `{left.name}` to {inner}, or build `{right.name}` for {left.shape[-1]}.",
        None,
    )
    if len(right.shape) == 2 and right.shape[-1] == left.shape[-1]:
        changed = with_operand(expression, right.name, f"{right.name}.T")
        fix = f"Transpose `{right.name}`: write `{changed}` instead of `{expression}`."
        edit = rewritten(crash.place, expression, changed)
    which = "first" if len(right.shape) <= 2 else "second to last"
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} multiplies {shape_text(left.shape)} by "
        f"{shape_text(right.shape)}: the last dimension of `{left.name}` ({left.shape[-1]}) must equal the "
        f"{which} of `{right.name}` ({inner}).",
        why="A matrix product sums over the last dimension of the left and the rows of the right operand.",
        fix=fix,
        where=crash.place,
        evidence=tensor_evidence(crash, left, right),
        confidence=0.95,
        edit=edit,
    )


def _wrong_rank(crash: CrashFact, expression: str, rank: int, left: LocalTensor, right: LocalTensor) -> Blame:
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} wants two tensors of {rank} dimensions but got "
        f"{shape_text(left.shape)} and {shape_text(right.shape)}.",
        why="mm multiplies two matrices and bmm two batches of matrices; matmul (@) takes any mixture of them.",
        fix=f"Use `torch.matmul({left.name}, {right.name})`, or bring both to {rank} dimensions.",
        where=crash.place,
        evidence=tensor_evidence(crash, left, right),
        confidence=0.95,
        edit=rewritten(crash.place, expression, f"torch.matmul({left.name}, {right.name})")
        if left.shape[-1:] == (_inner(right.shape),)
        else None,
    )
