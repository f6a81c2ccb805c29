"""The op as the user's line writes it: its expression, its operands, and the line with them changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch_debugger.checks.explainers.calls import calls_of, parse_expression
from torch_debugger.checks.explainers.expressions import called
from torch_debugger.checks.explainers.nonfinite.op_names import plain_name
from torch_debugger.records import Edit, Operand, Place

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.Mod: "remainder", ast.FloorDiv: "floor_divide",
}  # fmt: skip
Change = tuple[tuple[int, int], str]  # where in the line, and what to write there


@dataclass(frozen=True, slots=True)
class Written:
    """One line of code and the nodes in it that are the op; several where they read the same."""

    place: Place
    nodes: tuple[ast.AST, ...] = ()
    trees: tuple[ast.AST, ...] = ()

    @property
    def code(self) -> str:
        return self.place.code or ""

    @property
    def node(self) -> ast.AST | None:
        return self.nodes[0] if self.nodes else None

    def source(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.code[start:end]

    def inner(self, node: ast.AST) -> str:
        """The source without the parentheses that group it."""
        start, end = bounds(node)
        return self.code[start:end]

    def stands_alone(self, node: ast.AST) -> bool:
        """Whether a node is the whole value of an assignment, a return or an argument."""
        start, end = self.span(node)
        before, after = self.code[:start].rstrip(), self.code[end:].lstrip()[:1]
        return before.endswith(("=", "return", "(", ",")) and after in ("", ")", ",")

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands in the line, the parentheses that group it included."""
        start, end = bounds(node)
        before, after = self.code[:start], self.code[end:]
        is_call = before[-2:-1].isalnum() or before[-2:-1] in ("_", ")", "]")
        grouped = before.endswith("(") and after.startswith(")") and not is_call
        return (start - 1, end + 1) if grouped else (start, end)

    def with_method(self, node: ast.AST, method: str) -> Change:
        """`p` -> `p.clamp_min(1e-8)`, `1 - p` -> `(1 - p).clamp_min(1e-8)`"""
        return self.span(node), f"{self.primary(node)}{method}"

    def primary(self, node: ast.AST) -> str:
        """The source, in parentheses where something after it would bind to a part of it only."""
        is_primary = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        return self.inner(node) if is_primary else f"({self.inner(node)})"

    def with_sum(self, node: ast.AST, added: str) -> Change:
        """`x` -> `x + 1e-8` as an argument, `(x + 1e-8)` elsewhere"""
        start, end = bounds(node)
        text = self.code[start:end]
        text = f"({text})" if isinstance(node, ast.IfExp | ast.Compare | ast.BoolOp | ast.Lambda) else text
        alone = self.span(node) == (start, end) and self.stands_alone(node)
        return self.span(node), f"{text} + {added}" if alone else f"({text} + {added})"

    def edit(self, changes: Sequence[Change]) -> Edit | None:
        """The line with all changes made; None where the line cannot be told for certain."""
        after = replaced(self.code, changes)
        if self.place.file is None or self.place.line is None or after == self.code:
            return None
        return Edit(self.place.file, self.place.line, self.code, after)

    def expression(self, node: ast.AST, changes: Sequence[Change]) -> str:
        """A node's source with the changes that lie within it."""
        start, end = self.span(node)
        inside = [((a - start, b - start), text) for (a, b), text in changes if start <= a and b <= end]
        return replaced(self.code[start:end], inside)

    def holders(self, node: ast.AST) -> list[ast.AST]:
        """The expressions around a node and itself, the outermost first."""
        every = [held for tree in self.trees for held in ast.walk(tree)]
        return [
            held
            for held in every
            if isinstance(held, ast.expr) and any(inner is node for inner in ast.walk(held))
        ]


def replaced(code: str, changes: Sequence[Change]) -> str:
    for (start, end), text in sorted(changes, reverse=True):
        code = code[:start] + text + code[end:]
    return code


def renamed(written: Written, call: ast.Call, old: str, new: str) -> str:
    """The call of another function with the same arguments."""
    (start, end), name_end = bounds(call), bounds(call.func)[1]
    return written.code[start : name_end - len(old)] + new + written.code[name_end:end]


def bounds(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)


def read_op(place: Place, op: str, operands: Sequence[Operand]) -> Written:
    """The op in its line; without nodes where there is none, or several that cannot be told apart."""
    code = place.code or ""
    trees = tuple(_trees(code)) if "\n" not in code and code.isascii() else ()
    nodes = {bounds(node): node for tree in trees for node in ast.walk(tree) if op_of(node)[0] == op}
    fitting = [node for node in nodes.values() if _fits(node, operands)]
    if len(fitting) > 1 and operands and not operands[0].name:
        fitting = [node for node in fitting if not isinstance(op_of(node)[1][0], ast.Name | ast.Attribute)]
    if len({ast.unparse(node) for node in fitting}) != 1:
        fitting = []
    return Written(place, tuple(fitting), trees)


def _fits(node: ast.AST, operands: Sequence[Operand]) -> bool:
    """Named operands stand there by name. One without a name is no variable: an operator between variables
    is then not the op, which was made by code that the line calls."""
    given = op_of(node)[1]
    keywords = [word.value for word in node.keywords] if isinstance(node, ast.Call) else []
    texts = [ast.unparse(operand) for operand in [*given, *keywords]]
    if not all(operand.name in texts for operand in operands if operand.name):
        return False
    unnamed = sum(not operand.name for operand in operands)
    return not isinstance(node, ast.BinOp) or unnamed <= sum(not isinstance(item, ast.Name) for item in given)


def op_of(node: ast.AST) -> tuple[str, list[ast.expr]]:
    """The plain name of the op an expression is, and its operands: `a / b` and `torch.div(a, b)` alike."""
    if isinstance(node, ast.BinOp):
        return _OPERATORS.get(type(node.op), ""), [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return _OPERATORS.get(type(node.op), ""), [node.target, node.value]
    if not isinstance(node, ast.Call):
        return "", []
    name, operands = called(node)
    if operands and ast.unparse(operands[0]) in ("torch.linalg", "torch.special", "linalg", "nn.utils"):
        operands = operands[1:]
    if not operands or ast.unparse(operands[0]) == "self":
        return "", []  # self.softmax(x) is a module of the user's
    return plain_name(name), operands


def _trees(code: str) -> Iterator[ast.AST]:
    """The line as a statement; of a line that is a part of one, its complete calls."""
    for text in (code, f"{code} pass"):
        try:
            yield ast.parse(text)
            return
        except (SyntaxError, ValueError):
            continue
    yield from _calls(code)


def _calls(code: str) -> Iterator[ast.AST]:
    for text in {call for name in set(re.findall(r"\w+(?=\()", code)) for call in calls_of(code, name)}:
        tree = parse_expression(text)
        if tree is None or code.count(text) != 1:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                node.col_offset += code.index(text)
                node.end_col_offset = (node.end_col_offset or 0) + code.index(text)
        yield tree
