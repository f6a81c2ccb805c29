"""A call in the user's source: find it, read an argument, write another in its place."""

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
    """The texts of all complete calls of `name`, as they are written: nn.Linear(100, 10)"""
    found = []
    for match in re.finditer(rf"(?:[A-Za-z_]\w*\.)*\b{re.escape(name)}\(", code) if name else ():
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
    return Argument(call, *_span(call, chosen[0])) if chosen else None


def arguments_of_number(code: str, value: int) -> list[Argument]:
    """The argument of a call that is this number; empty where there is none, or more than one."""
    tree = parse_statement(code)
    found = []
    for node in ast.walk(tree) if tree is not None and code.isascii() else ():
        call = ast.get_source_segment(code, node) if isinstance(node, ast.Call) else None
        parsed = parse_expression(call) if call else None
        given = (
            [*parsed.args, *(word.value for word in parsed.keywords)] if isinstance(parsed, ast.Call) else []
        )
        found += [Argument(call or "", *_span(call or "", item)) for item in given if _number(item) == value]
    return found if len(found) == 1 else []


def _span(text: str, node: ast.expr) -> tuple[int, int]:
    """Where a part of a text that was parsed starts and ends in it, over several lines too."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    last = (node.end_lineno or node.lineno) - 1
    return starts[node.lineno - 1] + node.col_offset, starts[last] + (node.end_col_offset or 0)


def with_argument(call: str, written: str) -> str:
    """The call with one more argument at its end: batch_first=True"""
    inside = call[:-1].rstrip().rstrip(",")
    separator = "" if inside.endswith("(") else ", "
    return f"{inside}{separator}{written}{call[len(inside) :]}"


def one_line(text: str) -> str:
    """Source that spans several lines, as Python would write it on one."""
    node = parse_expression(text) if "\n" in text else None
    return ast.unparse(node) if node is not None else text


def parse_expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def parse_statement(code: str) -> ast.AST | None:
    """A statement; of a compound one, of which only the first line is there, its expression."""
    for text, before in ((code, 0), (f"{code}\n pass", 0), (f"if True: pass\n{code}\n pass", 1)):
        try:
            return ast.increment_lineno(ast.parse(text), -before)
        except (SyntaxError, ValueError):
            continue
    return parse_expression(code.removeprefix("return ").rstrip(",").strip())


def is_simple_statement(code: str) -> bool:
    """Whether it is a whole statement without a block of its own: one that can stand inside `with x:`."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError):
        try:
            body = ast.parse(f"def f():\n {code}").body[0].body  # type: ignore[attr-defined]  # a return
        except (SyntaxError, ValueError):
            return False
    return len(body) == 1 and not hasattr(body[0], "body")


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
    """The edit of one line, where the text to change stands exactly once in the place's code.

    The code may span several lines; the edit is of the one that changes.
    """
    if place.file is None or place.line is None or place.code is None:
        return None
    if before == after or place.code.count(before) != 1:
        return None
    old, new = place.code.split("\n"), place.code.replace(before, after).split("\n")
    changed = [index for index, line in enumerate(old) if len(old) == len(new) and line != new[index]]
    if len(changed) != 1:
        return None
    return Edit(place.file, place.line + changed[0], old[changed[0]], new[changed[0]])


def with_operand(expression: str, operand: str, changed: str) -> str:
    """The expression with its last operand of this text in another form."""
    tree = parse_expression(expression)
    nodes = ast.walk(tree) if tree is not None and expression.isascii() else ()
    spans = [_span(expression, node) for node in nodes if isinstance(node, ast.expr)]
    found = [(start, end) for start, end in spans if expression[start:end] == operand]
    if not found:
        return expression
    start, end = max(found)
    return expression[:start] + changed + expression[end:]
