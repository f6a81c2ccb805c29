"""A call in a line of the user's source: find it, read an argument, write another in its place."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torch_debugger.records import Edit, Place


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, as it is written: the call's text and the argument's span within it."""

    call: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.call[self.start : self.end]

    def replaced(self, text: str) -> str:
        return self.call[: self.start] + text + self.call[self.end :]


def calls_of(code: str, name: str) -> list[str]:
    """The texts of all complete calls of `name` in a line: nn.Linear(100, 10)"""
    found = []
    for match in re.finditer(rf"(?:[A-Za-z_]\w*\.)*\b{re.escape(name)}\(", code):
        depth, index = 1, match.end()
        while index < len(code) and depth:
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[index], 0)
            index += 1
        if not depth:
            found.append(code[match.start() : index])
    return found


def argument_of(call: str, position: int, keyword: str) -> Argument | None:
    """The argument at a position or under a keyword; None where it is not written out."""
    node = parse_expression(call)
    if not isinstance(node, ast.Call) or not call.isascii():
        return None
    named = [word.value for word in node.keywords if word.arg == keyword]
    plain = [item for item in node.args if not isinstance(item, ast.Starred)]
    chosen = named or (plain[position : position + 1] if len(plain) == len(node.args) else [])
    if not chosen or chosen[0].end_col_offset is None:
        return None
    return Argument(call, chosen[0].col_offset, chosen[0].end_col_offset)


def parse_expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def number_of(text: str) -> int | None:
    """The value of a whole number or of a sum or product of some: 16 * 5 * 5"""
    node = parse_expression(text)
    return _number(node) if node is not None else None


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand)
        return None if value is None else -value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.FloorDiv) and right:
        return left // right
    operations = {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}
    return operations.get(type(node.op))


def rewritten(place: Place, before: str, after: str) -> Edit | None:
    """The edit of one line, where the text to change stands there exactly once."""
    if place.file is None or place.line is None or place.code is None or "\n" in place.code:
        return None
    if before == after or place.code.count(before) != 1:
        return None
    return Edit(place.file, place.line, place.code, place.code.replace(before, after))


def with_operand(expression: str, operand: str, changed: str) -> str:
    """The expression with its last operand of this text in another form."""
    tree = parse_expression(expression)
    found = [
        (node.col_offset, node.end_col_offset)
        for node in (ast.walk(tree) if tree is not None and expression.isascii() else ())
        if isinstance(node, ast.expr) and expression[node.col_offset : node.end_col_offset] == operand
    ]
    if not found:
        return expression
    start, end = max(found)
    return expression[:start] + changed + expression[end:]
