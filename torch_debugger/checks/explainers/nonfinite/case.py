"""One op that made a NaN or Inf, and what an explainer says of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_debugger.checks.explainers.calls import with_argument
from torch_debugger.checks.explainers.nonfinite.op_names import plain_name
from torch_debugger.checks.explainers.nonfinite.written import Change, Written, bounds, op_of, read_op
from torch_debugger.records import Edit, Operand, Origin

_LONGEST = 60  # of an op shown in a sentence
_LONGEST_OPERAND = 40
_NOTHING = Operand("", "", ())


@dataclass(frozen=True, slots=True)
class Story:
    """What the operands prove: a clause for the message, the mathematics, and what to write."""

    proof: str  # because 12 of 640 values of `p` are 0
    why: str
    fix: str
    edit: Edit | None = None


@dataclass(frozen=True, slots=True)
class Case:
    origin: Origin
    op: str  # its plain name
    written: Written

    @property
    def backward(self) -> bool:
        return self.origin.phase == "backward"

    @property
    def finite(self) -> bool:
        """Whether all operands are."""
        return not any(operand.nans or operand.infs for operand in self.origin.operands)

    def operand(self, index: int = 0) -> Operand:
        """What is known of a tensor operand; nothing, where there is none of that number."""
        return self.origin.operands[index] if index < len(self.origin.operands) else _NOTHING

    def node(self, index: int = 0, op_node: ast.AST | None = None) -> ast.expr | None:
        """The expression of a tensor operand: by its name, else by its place among those without one."""
        node = op_node or self.written.node
        given = op_of(node)[1] if node is not None else []
        held = {operand.name for operand in self.origin.operands if operand.name}
        name = self.operand(index).name
        if name:
            return next((item for item in given if ast.unparse(item) == name), None)
        unnamed = [item for item in given if not _is_number(item) and ast.unparse(item) not in held]
        before = sum(not operand.name for operand in self.origin.operands[:index])
        return unnamed[before] if before < len(unnamed) else None

    def name(self, index: int = 0) -> str:
        """`p`, as the line writes it; where that is long or not known: its input"""
        node, operand = self.node(index), self.operand(index)
        text = operand.name or (self.written.inner(node) if node is not None else "") or operand.parameter
        return (
            f"`{text}`"
            if text and len(text) <= _LONGEST_OPERAND
            else ("its input", "its second input")[min(index, 1)]
        )

    def bare_name(self, index: int = 0) -> str:
        """For use within code: p, or x where it has no name."""
        return self.name(index).strip("`") if self.name(index).startswith("`") else "xy"[min(index, 1)]

    def shown(self) -> str:
        """`torch.log(p)`, or `log` where the line does not show it"""
        node = self.written.node
        text = self.written.inner(node) if node is not None else ""
        return f"`{text if 0 < len(text) <= _LONGEST else self.origin.op or self.op}`"

    def with_method(self, index: int, method: str) -> tuple[str, Edit | None]:
        """The op with `.clamp_min(1e-8)` after an operand: what to write, and the edit."""
        return self._rewritten(index, lambda node: self.written.with_method(node, method), method)

    def with_sum(self, index: int, added: str) -> tuple[str, Edit | None]:
        return self._rewritten(index, lambda node: self.written.with_sum(node, added), f" + {added}")

    def _rewritten(self, index: int, form: Callable[[ast.AST], Change], added: str) -> tuple[str, Edit | None]:
        operands = [self.node(index, node) for node in self.written.nodes]
        changes = [form(operand) for operand in operands if operand is not None]
        if changes:
            return self.told(changes)
        name = self.name(index)
        if name.startswith("`"):
            return f"Give it `{name.strip('`')}{added}`", None
        return f"Put `{added.strip()}` behind {name}", None

    def with_keyword(self, argument: str, position: int) -> tuple[str, Edit | None]:
        """The call with one more argument, that may also be given at a position; or what to give it"""
        calls = [node for node in self.written.nodes if isinstance(node, ast.Call)]
        given = {word.arg for call in calls for word in call.keywords}
        if not calls or given & {argument.partition("=")[0], None} or len(op_of(calls[0])[1]) > position:
            return f"Give it `{argument}`", None
        return self.told([(bounds(call), with_argument(self.written.inner(call), argument)) for call in calls])

    def told(self, changes: Sequence[Change]) -> tuple[str, Edit | None]:
        """Write `torch.log(p.clamp_min(1e-8))` instead of `torch.log(p)`, for an op that the line shows"""
        before = self.written.source(self.written.nodes[0])
        after = self.written.expression(self.written.nodes[0], changes)
        return f"Write `{after}` instead of `{before}`", self.written.edit(changes)

    def number(self, keyword: str = "", position: int = 0) -> float | None:
        """A number among the other arguments, by keyword or by position among those without one."""
        plain = [text for text in self.origin.arguments if "=" not in text]
        named = [text.partition("=")[2] for text in self.origin.arguments if text.startswith(f"{keyword}=")]
        found = named if keyword else plain[position:]
        try:
            return float(found[0]) if found else None
        except ValueError:
            return None


def read_case(origin: Origin, op: str) -> Case:
    return Case(origin, plain_name(op), read_op(origin.place, plain_name(op), origin.operands))


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant)
