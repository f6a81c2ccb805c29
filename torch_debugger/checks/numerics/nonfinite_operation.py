"""One op that made a NaN or Inf, and what an explainer says of it."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torch_debugger.checks.call_edits import edit_line
from torch_debugger.checks.crashes.explanation import place_text, shape_text
from torch_debugger.checks.crashes.user_code import called, calls_of, parse_expression, with_argument
from torch_debugger.records import Edit, Operand, Origin, Place

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
class OpCase:
    origin: Origin
    op: str  # its plain name
    written: WrittenOp

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
        names = {operand.name for operand in self.origin.operands if operand.name}
        name = self.operand(index).name
        if name:
            return next((item for item in given if ast.unparse(item) == name), None)
        unnamed = [item for item in given if not _is_number(item) and ast.unparse(item) not in names]
        before = sum(not operand.name for operand in self.origin.operands[:index])
        return unnamed[before] if before < len(unnamed) else None

    def name(self, index: int = 0) -> str:
        """`p`, as the line writes it; where that is long or not known: its input"""
        node, operand = self.node(index), self.operand(index)
        text = operand.name or (self.written.inner(node) if node is not None else "") or operand.parameter
        if text and len(text) <= _LONGEST_OPERAND:
            return f"`{text}`"
        return "its second input" if index else "its input"

    def bare_name(self, index: int = 0) -> str:
        """For use within code: p, or x where it has no name."""
        name = self.name(index)
        return name.strip("`") if name.startswith("`") else "xy"[min(index, 1)]

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
            return self.rewritten(changes)
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
        return self.rewritten([(bounds(call), with_argument(self.written.inner(call), argument)) for call in calls])

    def rewritten(self, changes: Sequence[Change]) -> tuple[str, Edit | None]:
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


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant)


# The op as the user's line writes it: its expression, its operands, and the line with them changed.
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.Mod: "remainder", ast.FloorDiv: "floor_divide",
}  # fmt: skip
Change = tuple[tuple[int, int], str]  # where in the line, and what to write there


@dataclass(frozen=True, slots=True)
class WrittenOp:
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
        return edit_line(self.place, after) if after != self.code else None

    def expression(self, node: ast.AST, changes: Sequence[Change]) -> str:
        """A node's source with the changes that lie within it."""
        start, end = self.span(node)
        inside = [((a - start, b - start), text) for (a, b), text in changes if start <= a and b <= end]
        return replaced(self.code[start:end], inside)

    def holders(self, node: ast.AST) -> list[ast.AST]:
        """The expressions around a node and itself, the outermost first."""
        every = [outer for tree in self.trees for outer in ast.walk(tree)]
        return [outer for outer in every if isinstance(outer, ast.expr) and node in ast.walk(outer)]


def replaced(code: str, changes: Sequence[Change]) -> str:
    for (start, end), text in sorted(changes, reverse=True):
        code = code[:start] + text + code[end:]
    return code


def renamed(written: WrittenOp, call: ast.Call, old: str, new: str) -> str:
    """The call of another function with the same arguments."""
    (start, end), name_end = bounds(call), bounds(call.func)[1]
    return written.code[start : name_end - len(old)] + new + written.code[name_end:end]


def bounds(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)


def read_case(origin: Origin, op: str) -> OpCase:
    """The op in its line; without nodes where there is none, or several that cannot be told apart."""
    name, operands, code = plain_name(op), origin.operands, origin.place.code or ""
    trees = tuple(_trees(code)) if "\n" not in code and code.isascii() else ()
    nodes = {bounds(node): node for tree in trees for node in ast.walk(tree) if op_of(node)[0] == name}
    fitting = [node for node in nodes.values() if _fits(node, operands)]
    if len(fitting) > 1 and operands and not operands[0].name:
        fitting = [node for node in fitting if not isinstance(op_of(node)[1][0], ast.Name | ast.Attribute)]
    if len({ast.unparse(node) for node in fitting}) != 1:
        fitting = []
    return OpCase(origin, name, WrittenOp(origin.place, tuple(fitting), trees))


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


# Formulas that torch has in a form which cannot overflow: log of a softmax, of a sum of exp, and so on.
def stable_form(written: WrittenOp) -> tuple[str, Edit | None] | None:
    """The formulas around the op in their stable form: what to write, and the edit."""
    changes: dict[tuple[int, int], tuple[ast.AST, str]] = {}
    for node in written.nodes:
        formulas = ((holder, form(written, holder)) for holder in written.holders(node) for form in _FORMS)
        found = next(((holder, text) for holder, text in formulas if text is not None), None)
        if found is None:
            return None
        changes[written.span(found[0])] = found
    if not changes:
        return None
    holder, text = next(iter(changes.values()))
    known = "F" not in text.split(".") or _has_f(written)
    edit = written.edit([(span, new) for span, (_, new) in changes.items()]) if known else None
    return f"Write `{text}` instead of `{written.source(holder)}`", edit


def _has_f(written: WrittenOp) -> bool:
    return re.search(r"\bF\.", written.code) is not None


def _functional(written: WrittenOp) -> str:
    """What the line calls torch.nn.functional, as far as it shows."""
    return "F" if _has_f(written) or "torch." not in written.code else "torch.nn.functional"


def _of_log(written: WrittenOp, node: ast.AST) -> str | None:
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
    operands = op_of(inner)[1]
    if kind == "add" and len(operands) == 2:
        other = operands[1] if _is_one(operands[0]) else operands[0] if _is_one(operands[1]) else None
        return _call(written, "softplus", _exponent(other)) if other is not None else None
    exponent = _exponent(operands[0]) if kind == "sum" else None
    if exponent is None or not isinstance(inner, ast.Call):
        return None
    arguments = _others(written, inner, operands[0])
    # logsumexp wants to be told the dimension
    return _torch_call(written, "logsumexp", exponent, arguments) if arguments else None


def _softmax(written: WrittenOp, node: ast.AST) -> str | None:
    """exp(x) / exp(x).sum(dim, keepdim=True)"""
    op, operands = op_of(node)
    exponent = _exponent(operands[0]) if op == "div" and len(operands) == 2 else None
    kind, summed = op_of(operands[1]) if exponent is not None else ("", [])
    if exponent is None or kind != "sum" or ast.unparse(summed[0]) != ast.unparse(operands[0]):
        return None
    total = operands[1]
    given = _others(written, total, summed[0]) if isinstance(total, ast.Call) else ""
    dims = [part.strip() for part in given.split(",") if "keepdim" not in part and part.strip() not in ("True", "")]
    if len(dims) != 1 or "True" not in given:
        return None
    return _torch_call(written, "softmax", exponent, dims[0])


def _sigmoid(written: WrittenOp, node: ast.AST) -> str | None:
    """1 / (1 + exp(-x))"""
    op, operands = op_of(node)
    if op != "div" or len(operands) != 2 or not _is_one(operands[0]):
        return None
    kind, parts = op_of(operands[1])
    others = [part for part in parts if not _is_one(part)]
    exponent = _exponent(others[0]) if kind == "add" and len(parts) - len(others) == 1 else None
    if not isinstance(exponent, ast.UnaryOp) or not isinstance(exponent.op, ast.USub):
        return None
    return _torch_call(written, "sigmoid", exponent.operand)


_FORMS = (_of_log, _softmax, _sigmoid)


def _exponent(node: ast.AST | None) -> ast.expr | None:
    """x of exp(x)"""
    op, operands = op_of(node) if node is not None else ("", [])
    return operands[0] if op == "exp" and len(operands) == 1 else None


def _is_one(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in (1, 1.0) and node.value is not True


def _call(written: WrittenOp, name: str, argument: ast.expr | None) -> str | None:
    return f"{_functional(written)}.{name}({written.source(argument)})" if argument is not None else None


def _torch_call(written: WrittenOp, name: str, argument: ast.expr, others: str = "") -> str:
    """torch.softmax(x, 1), or x.softmax(1) where the line shows no torch"""
    if "torch." in written.code:
        return f"torch.{name}({written.source(argument)}{others and f', {others}'})"
    return f"{written.primary(argument)}.{name}({others})"


def _others(written: WrittenOp, call: ast.Call, operand: ast.AST) -> str:
    """The arguments of a call besides its operand, as they are written."""
    named = [f"{word.arg}={written.source(word.value)}" for word in call.keywords]
    return ", ".join([*(written.source(item) for item in call.args if item is not operand), *named])


# The numbers of an op's operands, in words.
def number(value: float) -> str:
    """3.2, 65,504, 1e+20"""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.4g}"


def share(count: int, operand: Operand, name: str, state: str) -> str:
    """12 of 640 values of `p` are 0"""
    if operand.elements == 1:
        return f"{name} is {state}"
    if count == operand.elements:
        return f"{'both' if count == 2 else f'all {count:,}'} values of {name} are {state}"
    return f"{count:,} of {operand.elements:,} values of {name} {'is' if count == 1 else 'are'} {state}"


def zeros_of(operand: Operand, name: str) -> str:
    return share(operand.zeros, operand, name, "0")


def negatives_of(operand: Operand, name: str) -> str:
    """3 of 640 values of `x` are below 0, the lowest -0.18"""
    if operand.elements == 1:
        return f"{name} is {number(operand.low)}"
    return share(operand.negatives, operand, name, "below 0") + f", the lowest {number(operand.low)}"


def size_of(operand: Operand) -> float:
    """The largest finite value, whatever its sign."""
    return max(abs(operand.low), abs(operand.high))


def headroom(operand: Operand, limit: float) -> str:
    """7.7 bits below 65,504, the limit of float16"""
    return f"{math.log2(limit / size_of(operand)):.1f} bits below {number(limit)}"


def described(operand: Operand, name: str) -> str:
    """`x` (float32 [64, 10], from 0 to 3.2, 12 zeros)"""
    parts = [f"{operand.dtype} {shape_text(operand.shape)}".strip()]
    if operand.elements > operand.nans + operand.infs:
        parts.append(f"from {number(operand.low)} to {number(operand.high)}")
    counts = (("zero", operand.zeros), ("NaN", operand.nans), ("Inf", operand.infs))
    parts += [f"{count:,} {word}{'s' if word == 'zero' and count > 1 else ''}" for word, count in counts if count]
    return f"{name} ({', '.join(parts)})"


def parameters_text(names: tuple[str, ...]) -> str:
    """`net.fc.weight` and 3 more parameters"""
    more = len(names) - 1
    first = f"`{names[0]}`" if names else "some weights"
    return first + (f" and {more} more parameter{'s' if more > 1 else ''}" if more > 0 else "")


def line_of(place: Place) -> str:
    """at train.py:31, or nothing"""
    return f" at {place_text(place)}" if place.file else ""


def is_rounding(operand: Operand) -> bool:
    """Below 0 by so little that a sum or difference of positive numbers may have rounded to it."""
    return 0 > operand.low >= -max(1e-4 * operand.high, 1e-6)


def small_number(operand: Operand) -> str:
    """What may be added without a change that shows; below 6e-8 float16 has only 0."""
    return "1e-4" if operand.dtype == "float16" else "1e-8"


def near_one(operand: Operand) -> str:
    """A step from 1 that the dtype still tells from it."""
    return {"float16": "1e-3", "bfloat16": "1e-2"}.get(operand.dtype, "1e-6")


# The names one op goes by: `a / b`, torch.div(a, b), a.true_divide(b) and a.div_(b) are all div.
_SAME = {
    "truediv": "div", "rtruediv": "div", "itruediv": "div", "rdiv": "div", "true_divide": "div",
    "divide": "div", "rpow": "pow", "ipow": "pow", "float_power": "pow", "rmul": "mul", "imul": "mul",
    "multiply": "mul", "radd": "add", "iadd": "add", "rsub": "sub", "isub": "sub", "subtract": "sub",
    "mod": "remainder", "rmod": "remainder", "fmod": "remainder", "rmatmul": "matmul", "imatmul": "matmul",
    "mm": "matmul", "bmm": "matmul", "mv": "matmul", "dot": "matmul", "inner": "matmul", "arccos": "acos",
    "arcsin": "asin", "arccosh": "acosh", "arctanh": "atanh", "arctan2": "atan2", "vector_norm": "norm",
    "frobenius_norm": "norm", "std_mean": "std", "var_mean": "var", "nll_loss_nd": "nll_loss", "inverse": "inv",
}  # fmt: skip


def plain_name(op: str) -> str:
    """div for __truediv__, log for log_"""
    name = op.strip("_").removeprefix("linalg_").removeprefix("special_")
    return _SAME.get(name, name)
