"""Statements that compute a variable's next value from its own: `w = w - lr * w.grad`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import covers, tree_of
from torch_debugger.probes.examiners.source_cuts import core_of
from torch_debugger.probes.examiners.user_scope import LOOPS

_SIGNS = {ast.Sub: "-=", ast.Add: "+="}
_CLEARING = ("grad.zero_(", "grad.data.zero_(", "zero_grad(", ".grad = ", "autograd.grad(")


@dataclass(frozen=True)
class Rebind:
    """One update, beside what its variable holds now."""

    file: str
    node: ast.stmt
    target: ast.expr
    value: ast.expr
    held: Any  # of params[k], all params
    makers: tuple[ast.stmt, ...]  # the other statements that give the variable a value or ask for its gradient

    @property
    def name(self) -> str:
        return ast.unparse(self.target)

    @property
    def reads_gradient(self) -> bool:
        return any(isinstance(part, ast.Attribute) and part.attr == "grad" for part in ast.walk(self.value))

    @property
    def operator(self) -> ast.operator | None:
        value = self.value.elt if isinstance(self.value, ast.ListComp) else self.value
        return value.op if isinstance(value, ast.BinOp) else None


def rebinds_in(statements: Sequence[ast.stmt], file: str, held: Callable[[ast.expr], Any]) -> Iterator[Rebind]:
    for node in statements:
        repeats = any(is_a(one, LOOPS) and covers(one, node.lineno) for one in statements)
        for target, value in _pairs(node) if isinstance(node, ast.Assign) else ():
            kept = target.value if isinstance(target, ast.Subscript) else target
            now = held(kept)
            if now is None or not _reads(value, target):
                continue
            makers = tuple(one for one in statements if one is not node and _concerns(one, ast.unparse(kept)))
            found = Rebind(file, node, target, value, now, makers)
            if repeats or found.reads_gradient:
                yield found


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """w, b = w - lr * w.grad, b - lr * b.grad has two of them."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _reads(value: ast.expr, target: ast.expr) -> bool:
    name = ast.unparse(target)
    return any(isinstance(part, ast.expr) and ast.unparse(part) == name for part in ast.walk(value))


def _concerns(node: ast.stmt, name: str) -> bool:
    """w = ..., w.requires_grad_(), w.requires_grad = True"""
    text = ast.unparse(node) if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) else ""
    flagged = text.startswith((f"{name}.requires_grad_(", f"{name}.requires_grad ="))
    targets = [target for target, _ in _pairs(node)] if isinstance(node, ast.Assign) else []
    return flagged or any(ast.unparse(target) == name for target in targets)


def asks_gradient(maker: ast.stmt) -> bool:
    """Whether a statement makes a tensor that is trained: requires_grad=True, nn.Parameter(...)"""
    text = ast.unparse(maker)
    asks = ("requires_grad=True", "requires_grad = True", "requires_grad_()", "requires_grad_(True)")
    return any(word in text for word in (*asks, "Parameter("))


def clears_gradients(file: str) -> bool:
    tree = tree_of(file)
    text = ast.unparse(tree) if tree is not None else ""
    return any(word in text for word in _CLEARING)


def in_place(rebind: Rebind, code: str) -> str:
    """The same update written into the tensor itself: w -= lr * w.grad"""
    again = _as_written(rebind, code)
    if isinstance(again, ast.ListComp) and len(again.generators) == 1:
        loop, update = again.generators[0], _augmented(again.elt, code)
        if update and not loop.ifs:
            return f"for {_text(loop.target, code)} in {_text(loop.iter, code)}:\n    {update}"
        return ""
    if again is None:
        return ""
    same = isinstance(again, ast.BinOp) and ast.unparse(core_of(again.left)) == rebind.name
    whole = f"{rebind.name}.copy_({_text(again, code)})" if _is_one(rebind) else ""
    return (_augmented(again, code) if same else "") or whole


def _is_one(rebind: Rebind) -> bool:
    return not is_one_of(rebind.held, (list, tuple, dict)) or isinstance(rebind.target, ast.Subscript)


def _as_written(rebind: Rebind, code: str) -> ast.expr | None:
    """The update's value, with places within the statement's own text."""
    body = ast.parse(code).body
    pairs = _pairs(body[0]) if body and isinstance(body[0], ast.Assign) else []
    return next((value for target, value in pairs if ast.unparse(target) == rebind.name), None)


def _augmented(node: ast.expr, code: str) -> str:
    sign = _SIGNS.get(type(node.op), "") if isinstance(node, ast.BinOp) else ""
    if not isinstance(node, ast.BinOp) or not sign:
        return ""
    return f"{_text(core_of(node.left), code)} {sign} {_text(node.right, code)}"


def _text(node: ast.expr, code: str) -> str:
    return ast.get_source_segment(code, node) or ast.unparse(node)
