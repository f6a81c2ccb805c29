"""Element-wise operators whose operands do not broadcast."""

from __future__ import annotations

import ast
from itertools import zip_longest

from torch_debugger.checks.explainers.blame import Blame, place_text, shape_text, tensor_evidence
from torch_debugger.checks.explainers.calls import rewritten, with_operand
from torch_debugger.checks.explainers.expressions import Line, called, explain_nodes, two_tensors
from torch_debugger.records import CrashFact, LocalTensor

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_FUNCTIONS = ("add", "sub", "mul", "div", "maximum", "minimum", "add_", "sub_", "mul_", "div_")


def explain_elementwise(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node))


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        return [node.left, node.right]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return [node.left, *node.comparators]
    name, operands = called(node)
    return operands if name in _FUNCTIONS else []


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    tensors = two_tensors(line, _operands(node))
    clash = _clash(tensors[0].shape, tensors[1].shape) if tensors else None
    if tensors is None or clash is None:
        return None
    left, right = tensors
    expression = line.source(node)
    fix, changed = _repair(expression, left, right)
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} combines {shape_text(left.shape)} with "
        f"{shape_text(right.shape)}: counted from the right, {clash[0]} meets {clash[1]}, and neither is 1.",
        why="Element-wise operators compare sizes from the last dimension on: equal, or one of them 1.",
        fix=fix,
        where=crash.place,
        evidence=tensor_evidence(crash, left, right),
        confidence=0.95,
        edit=rewritten(crash.place, expression, changed) if changed else None,
    )


def _clash(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, int] | None:
    for first, second in zip_longest(reversed(left), reversed(right), fillvalue=1):
        if first != second and 1 not in (first, second):
            return first, second
    return None


def _repair(expression: str, left: LocalTensor, right: LocalTensor) -> tuple[str, str | None]:
    """One value per row needs a last dimension of 1; anything else has no single answer."""
    if len(right.shape) == 1 and len(left.shape) == 2 and left.shape[0] == right.shape[0]:
        changed = with_operand(expression, right.name, f"{right.name}.unsqueeze(1)")
        return (
            f"One value per row needs a dimension of 1: write `{changed}` instead of `{expression}`.",
            changed,
        )
    return f"Bring `{left.name}` and `{right.name}` to the same shape before this line.", None
