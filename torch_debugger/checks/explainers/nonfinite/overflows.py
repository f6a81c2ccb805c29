"""Finite numbers whose sum or product leaves the range of the dtype."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.reach import PRODUCTS, limit_of, reach_of, sized
from torch_debugger.checks.explainers.nonfinite.wording import headroom, number, size_of
from torch_debugger.checks.explainers.nonfinite.written import Change, bounds, op_of
from torch_debugger.records import Edit, Operand

_HALF = 65504.0
_CASTS = ("half", "to", "type", "type_as")


def explain_overflow(case: Case) -> Story | None:
    """Where the operands' sizes show that the result cannot be held."""
    if case.backward or not case.finite or not sized(case):
        return None
    if case.op in _CASTS:
        return _by_cast(case)
    reach, limit = reach_of(case), limit_of(case)
    if reach is None or limit <= 0:
        return None
    if limit == _HALF:
        return _in_half(case, reach, "") if reach > _HALF else None
    if reach > limit:
        return _in_float(case, reach, limit)
    if case.op in PRODUCTS and reach > _HALF and case.origin.made != "nan":
        return _in_half(case, reach, "The operands are float32, so autocast ran it in half precision. ")
    return None


def _in_half(case: Case, reach: float, before: str) -> Story:
    told = [f"{case.name(index)} reaches {_with_headroom(case.operand(index))}" for index in sized(case)[:2]]
    why = f"{before}Of operands this large {case.op} can make {number(reach)}, and float16 ends at 65,504."
    proof, scaled = (
        f"because {' and '.join(dict.fromkeys(told))}",
        _scaled_before(case),
    )  # h * h has one operand
    if scaled is not None:
        return Story(proof, why, f"{scaled[0]}: scale before the product, not after.", scaled[1])
    advice, edit = _in_float32(case)
    fix = f"{advice}, scale its operands down, or train in bfloat16, which has the range of float32."
    return Story(proof, why, fix, edit)


def _with_headroom(operand: Operand) -> str:
    size = size_of(operand)
    return f"{number(size)} ({headroom(operand, _HALF)})" if size < _HALF else number(size)


def _in_float32(case: Case) -> tuple[str, Edit | None]:
    """Outside of the model a float32 result fits everywhere; inside, a half layer may follow."""
    nodes = [case.node(index) for index in sized(case)]
    if case.origin.phase != "loss" or None in nodes or case.operand().dtype != "float16":
        return "Keep this in float32 (`x.float()`, or `torch.autocast(..., enabled=False)` around it)", None
    return case.told([case.written.with_method(node, ".float()") for node in nodes if node is not None])


def _scaled_before(case: Case) -> tuple[str, Edit | None] | None:
    """`q @ k.T / math.sqrt(d)` -> `(q / math.sqrt(d)) @ k.T`"""
    inner = case.written.node
    if case.op != "matmul" or inner is None or len(case.written.nodes) > 1:
        return None
    for holder in case.written.holders(inner):
        op, parts = op_of(holder)
        if op in ("div", "mul") and parts[0] is inner and _is_plain_number(parts[1]):
            sign = "/" if op == "div" else "*"
            return _moved(case, holder, f" {sign} {case.written.source(parts[1])}")
    return None


def _moved(case: Case, holder: ast.AST, scale: str) -> tuple[str, Edit | None]:
    inner = case.written.nodes[0]
    first = op_of(inner)[1][0]
    text = f"{case.written.primary(first)}{scale}"
    change: Change = (case.written.span(first), f"({text})" if isinstance(inner, ast.BinOp) else text)
    after = case.written.expression(inner, [change])
    told = f"Write `{after}` instead of `{case.written.inner(holder)}`"
    return told, case.written.edit([(bounds(holder), after)])


def _is_plain_number(node: ast.expr) -> bool:
    """A number, math.sqrt(d), d ** 0.5: nothing that has a shape."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return isinstance(node.right, ast.Constant | ast.UnaryOp)
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("math.", "np.", "numpy."))


def _by_cast(case: Case) -> Story | None:
    operand = case.operand()
    if size_of(operand) <= _HALF or operand.limit <= _HALF:
        return None
    why = f"float16 ends at 65,504; {case.name()} holds numbers that only {operand.dtype} can."
    fix = f"Keep {case.name()} in {operand.dtype}, scale it before the cast, or use bfloat16 instead."
    return Story(f"because {case.name()} reaches {number(size_of(operand))}", why, fix)


def _in_float(case: Case, reach: float, limit: float) -> Story:
    told = [f"{case.name(index)} reaches {number(size_of(case.operand(index)))}" for index in sized(case)[:2]]
    dtype = next(case.operand(index).dtype for index in sized(case) if case.operand(index).limit == limit)
    why = f"Of operands this large {case.op} can make {number(reach)}, and {dtype} ends at {number(limit)}. "
    grown = [held.parameter for held in case.origin.operands if held.parameter and size_of(held) > 1e4]
    if grown:
        why += f"The weight `{grown[0]}` itself has grown that far: its updates were too large."
    else:
        why += "Numbers of that size are seldom meant: they grew step by step, or came in unscaled."
    model = grown[0].partition(".")[0] if grown else "model"
    fix = (
        "Lower the learning rate, or clip the gradients before each step "
        f"(`torch.nn.utils.clip_grad_norm_({model}.parameters(), 1.0)`); scale inputs and targets to about 1."
    )
    return Story(f"because {' and '.join(dict.fromkeys(told))}", why, fix)
