"""Matrix products between the user's own tensors: @, matmul, mm, bmm, F.linear."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.blame import Blame, place_text, shape_text, tensor_evidence
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.expressions import Line, called, explain_nodes
from torch_debugger.checks.explainers.operands import change_operand
from torch_debugger.checks.explainers.shapes.inference import broadcast
from torch_debugger.checks.explainers.statements import statement_at
from torch_debugger.records import CrashFact, LocalTensor

_RANKS = {"mm": 2, "bmm": 3}


def explain_product(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node))


def product_of(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """The name and the two operands of a matrix product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return "@", [node.left, node.right]
    name, operands = called(node)
    return (name, operands[:2]) if name in ("matmul", "mm", "bmm", "linear") else ("", [])


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = product_of(node)
    tensors = _tensors(crash, line, operands) if len(operands) == 2 else None
    if tensors is None:
        return None
    rank = _RANKS.get(name)
    if rank is not None and any(len(tensor.shape) != rank for tensor in tensors):
        return _wrong_rank(crash, line, node, rank, *tensors)
    left, right = tensors
    if name == "linear":
        return _weight(crash, line, node, left, right)
    if not left.shape or not right.shape or left.shape[-1] == _inner(right.shape):
        return None
    return _unequal(crash, line, node, left, right)


def _tensors(crash: CrashFact, line: Line, operands: list[ast.expr]) -> tuple[LocalTensor, LocalTensor] | None:
    """Both operands; one that is a longer expression by the message, if the other one confirms it."""
    left, right = (line.tensor(operand) for operand in operands)
    match = re.search(r"cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", crash.message)
    if left is not None and right is not None:
        return left, right
    if match is None or not line.failing:
        return None
    told = [int(size) for size in match.groups()]
    if left is not None and left.shape == (told[0], told[1]):
        return left, LocalTensor(line.source(operands[1]), (told[2], told[3]), "", "", False)
    if right is not None and right.shape == (told[2], told[3]):
        return LocalTensor(line.source(operands[0]), (told[0], told[1]), "", "", False), right
    return None


def _inner(shape: tuple[int, ...]) -> int:
    return shape[-2] if len(shape) > 1 else shape[0]


def _unequal(crash: CrashFact, line: Line, node: ast.expr, left: LocalTensor, right: LocalTensor) -> Blame:
    inner, expression, edit = _inner(right.shape), line.source(node), None
    fix = f"Bring the last dimension of `{left.name}` to {inner}, or build `{right.name}` for {left.shape[-1]}."
    if (odd := _to_transpose(left, right)) is not None:
        turned = f"{odd.name}.T" if len(odd.shape) == 2 else f"{odd.name}.transpose(-2, -1)"
        changed, edit = change_operand(crash, line, node, odd.name, turned)
        fix = f"Transpose `{odd.name}`: write `{changed}` instead of `{expression}`."
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


def _to_transpose(left: LocalTensor, right: LocalTensor) -> LocalTensor | None:
    """The operand whose last two dimensions, swapped, make the product fit; the right one where both do."""
    if (
        len(left.shape) > 1
        and len(right.shape) > 1
        and broadcast(left.shape[:-2], right.shape[:-2]) is not None
    ):
        if left.shape[-1] == right.shape[-1]:
            return right
        if left.shape[-2] == right.shape[-2]:
            return left
    return None


def _weight(
    crash: CrashFact, line: Line, node: ast.expr, given: LocalTensor, weight: LocalTensor
) -> Blame | None:
    if len(weight.shape) != 2 or not given.shape or given.shape[-1] == weight.shape[1]:
        return None
    fix, edit = (
        f"Bring the last dimension of `{given.name}` to {weight.shape[1]}, or build another weight.",
        None,
    )
    expression = line.source(node)
    if given.shape[-1] == weight.shape[0]:
        changed, edit = change_operand(crash, line, node, weight.name, f"{weight.name}.T")
        fix = f"Transpose it: write `{changed}` instead of `{expression}`; or build it as [out, in]."
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} got an input {shape_text(given.shape)} and a "
        f"weight {shape_text(weight.shape)}: the input's last dimension must equal the weight's second.",
        why="F.linear takes its weight as [out, in] and multiplies by the transpose of it.",
        fix=fix,
        where=crash.place,
        evidence=tensor_evidence(crash, given, weight),
        confidence=0.95,
        edit=edit,
    )


def _wrong_rank(
    crash: CrashFact, line: Line, node: ast.expr, rank: int, left: LocalTensor, right: LocalTensor
) -> Blame:
    expression, changed = line.written(node), f"torch.matmul({left.name}, {right.name})"
    rows = _one_row_each(left, right) if rank == 3 else None
    changed = rows or changed
    fits = rows is not None or (left.shape[-1:] == (_inner(right.shape),) and rank == 2)
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} wants two tensors of {rank} dimensions "
        f"but got {shape_text(left.shape)} and {shape_text(right.shape)}.",
        why="mm multiplies two matrices and bmm two batches of matrices; matmul (@) takes any mixture of them.",
        fix=f"Use `{changed}`, or bring both to {rank} dimensions.",
        where=crash.place,
        evidence=tensor_evidence(crash, left, right),
        confidence=0.95,
        edit=rewritten(statement_at(crash, crash.place).whole, expression, changed) if fits else None,
    )


def _one_row_each(left: LocalTensor, right: LocalTensor) -> str | None:
    """torch.bmm(w.unsqueeze(1), x): a row or column for each sample is a batch of matrices of one row."""
    if len(left.shape) == 2 and len(right.shape) == 3 and left.shape == right.shape[:2]:
        return f"torch.bmm({left.name}.unsqueeze(1), {right.name})"
    if len(left.shape) == 3 and len(right.shape) == 2 and right.shape == (left.shape[0], left.shape[2]):
        return f"torch.bmm({left.name}, {right.name}.unsqueeze(2))"
    return None
