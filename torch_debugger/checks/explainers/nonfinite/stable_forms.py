"""Formulas that torch has in a form which cannot overflow: log of a softmax, of a sum of exp, and so on."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.nonfinite.written import Written, op_of, renamed
from torch_debugger.records import Edit


def stable_form(written: Written) -> tuple[str, Edit | None] | None:
    """The formulas around the op in their stable form: what to write, and the edit."""
    found = [_around(written, node) for node in written.nodes]
    changes = {written.span(holder): (holder, text) for holder, text in filter(None, found)}
    if not changes or None in found:
        return None
    holder, text = next(iter(changes.values()))
    known = "F" not in text.split(".") or _has_f(written)
    edit = written.edit([(span, new) for span, (_, new) in changes.items()]) if known else None
    return f"Write `{text}` instead of `{written.source(holder)}`", edit


def _around(written: Written, node: ast.AST) -> tuple[ast.AST, str] | None:
    for holder in written.holders(node):
        for form in (_of_log, _softmax, _sigmoid):
            if (text := form(written, holder)) is not None:
                return holder, text
    return None


def _has_f(written: Written) -> bool:
    return re.search(r"\bF\.", written.code) is not None


def _functional(written: Written) -> str:
    """What the line calls torch.nn.functional, as far as it shows."""
    if _has_f(written) or "torch." not in written.code:
        return "F"
    return "torch.nn.functional"


def _of_log(written: Written, node: ast.AST) -> str | None:
    """log of softmax(x), sigmoid(x), 1 - sigmoid(x), sum(exp(x)), 1 + exp(x); log1p(exp(x))"""
    op, operands = op_of(node)
    if op not in ("log", "log1p") or len(operands) != 1:
        return None
    inner, (first, *_) = operands[0], [*op_of(operands[0])[1], None]
    kind = op_of(inner)[0]
    if op == "log1p":
        return _call(written, "softplus", _exponent(inner)) if kind == "exp" else None
    if kind == "softmax" and isinstance(inner, ast.Call):
        return renamed(written, inner, "softmax", "log_softmax")
    if kind == "sigmoid" and first is not None:
        return _call(written, "logsigmoid", first)
    if kind == "sub" and _is_one(first) and op_of(op_of(inner)[1][1])[0] == "sigmoid":
        argument = written.primary(op_of(op_of(inner)[1][1])[1][0])
        return f"{_functional(written)}.logsigmoid(-{argument})"
    return _log_of_sum(written, inner)


def _log_of_sum(written: Written, inner: ast.expr) -> str | None:
    kind, operands = op_of(inner)
    if kind == "add" and len(operands) == 2:
        other = operands[1] if _is_one(operands[0]) else operands[0] if _is_one(operands[1]) else None
        return _call(written, "softplus", _exponent(other)) if other is not None else None
    exponent = _exponent(operands[0]) if kind == "sum" else None
    if exponent is None or not isinstance(inner, ast.Call):
        return None
    arguments = _others(written, inner, operands[0])
    if not arguments:
        return None  # logsumexp wants to be told the dimension
    return _torch_call(written, "logsumexp", exponent, arguments)


def _softmax(written: Written, node: ast.AST) -> str | None:
    """exp(x) / exp(x).sum(dim, keepdim=True)"""
    op, operands = op_of(node)
    exponent = _exponent(operands[0]) if op == "div" and len(operands) == 2 else None
    kind, summed = op_of(operands[1]) if exponent is not None else ("", [])
    if exponent is None or kind != "sum" or ast.unparse(summed[0]) != ast.unparse(operands[0]):
        return None
    total = operands[1]
    given = _others(written, total, summed[0]) if isinstance(total, ast.Call) else ""
    dims = [
        part.strip() for part in given.split(",") if "keepdim" not in part and part.strip() not in ("True", "")
    ]
    if len(dims) != 1 or "True" not in given:
        return None
    return _torch_call(written, "softmax", exponent, dims[0])


def _sigmoid(written: Written, node: ast.AST) -> str | None:
    """1 / (1 + exp(-x))"""
    op, operands = op_of(node)
    if op != "div" or len(operands) != 2 or not _is_one(operands[0]):
        return None
    kind, parts = op_of(operands[1])
    other = next((part for part in parts if not _is_one(part)), None) if kind == "add" else None
    exponent = (
        _exponent(other) if other is not None and len([part for part in parts if _is_one(part)]) == 1 else None
    )
    if not isinstance(exponent, ast.UnaryOp) or not isinstance(exponent.op, ast.USub):
        return None
    return _torch_call(written, "sigmoid", exponent.operand)


def _exponent(node: ast.AST | None) -> ast.expr | None:
    """x of exp(x)"""
    op, operands = op_of(node) if node is not None else ("", [])
    return operands[0] if op == "exp" and len(operands) == 1 else None


def _is_one(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in (1, 1.0) and node.value is not True


def _call(written: Written, name: str, argument: ast.expr | None) -> str | None:
    return f"{_functional(written)}.{name}({written.source(argument)})" if argument is not None else None


def _torch_call(written: Written, name: str, argument: ast.expr, others: str = "") -> str:
    """torch.softmax(x, 1), or x.softmax(1) where the line shows no torch"""
    if "torch." in written.code:
        return f"torch.{name}({written.source(argument)}{others and f', {others}'})"
    return f"{written.primary(argument)}.{name}({others})"


def _others(written: Written, call: ast.Call, operand: ast.AST) -> str:
    """The arguments of a call besides its operand, as they are written."""
    named = [f"{word.arg}={written.source(word.value)}" for word in call.keywords]
    return ", ".join([*(written.source(item) for item in call.args if item is not operand), *named])
