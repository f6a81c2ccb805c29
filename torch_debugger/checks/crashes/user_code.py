"""A call in the user's source: find it, read an argument, write another in its place."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from torch_debugger.checks.crashes.explanation import (
    Blame,
    as_sentence,
    ended_in_torch,
    first_of,
    place_text,
    user_frame,
)
from torch_debugger.records import CrashFact, CrashFrame, Edit, FlowStep, LocalTensor, Place


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
    found = []
    for node in nodes_of(code) if code.isascii() else ():
        call = ast.get_source_segment(code, node) if isinstance(node, ast.Call) else None
        parsed = parse_expression(call) if call else None
        given = [*parsed.args, *(word.value for word in parsed.keywords)] if isinstance(parsed, ast.Call) else []
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


def first_statement(code: str | None) -> ast.stmt | None:
    tree = parse_statement(code or "")
    return tree.body[0] if isinstance(tree, ast.Module) and tree.body else None


def nodes_of(code: str | None) -> list[ast.AST]:
    """All nodes of a statement, the outer ones first; none where it cannot be read."""
    tree = parse_statement(code or "")
    return list(ast.walk(tree)) if tree is not None else []


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
    code = place.code or ""
    return line_changed(place, code.replace(before, after)) if before != after and code.count(before) == 1 else None


def line_changed(place: Place, code: str | None) -> Edit | None:
    """The edit of the one line that differs from the place's code."""
    if place.file is None or place.line is None or place.code is None or code is None:
        return None
    old, new = place.code.split("\n"), code.split("\n")
    changed = [index for index in range(len(old)) if len(old) == len(new) and old[index] != new[index]]
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


# A statement of the user's that the traceback went through: its lines, and the call it was in.
@dataclass(frozen=True, slots=True)
class Change:
    """A change of one argument of a call, in words and as an edit where it is plain."""

    text: str
    edit: Edit | None
    where: Place


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as it is written, however many lines it takes."""

    line: Place  # the line that crashed or called
    whole: Place  # the first line, with the code of all
    failing: str = ""  # the very expression that raised

    def call(self, names: list[str]) -> str | None:
        """The call that raised; where Python cannot tell, the only call of the first name that is called."""
        code = self.whole.code or ""
        if self.failing:
            return written_call(code, self.failing)
        found = next((calls for name in names if (calls := calls_of(code, name))), [])
        return found[0] if len(found) == 1 else None

    def argument(self, names: list[str], position: int, keyword: str = "") -> Argument | None:
        call = self.call(names)
        return argument_of(call, position, keyword) if call else None

    def change(self, names: list[str], pattern: str, position: int = 0, keyword: str = "", after: str = "") -> Change:
        """Write `pattern` ("{}.flatten(1)") around an argument of the call, and `after` behind the call."""
        argument = self.argument(names, position, keyword)
        if argument is None or not is_plain(argument):
            behind = f" and write `{after}` behind the call" if after else ""
            told = f"give it `{pattern.format(keyword or 'x')}`{behind} at {place_text(self.line)}"
            return Change(told, None, self.line)
        changed = argument.replaced(pattern.format(argument.text)) + after
        return write_instead(self.whole, argument.call, changed, self.line)


def write_instead(place: Place, before: str, after: str, where: Place) -> Change:
    text = f"write `{one_line(after)}` instead of `{one_line(before)}` at {place_text(where)}"
    return Change(text, rewritten(place, before, after), where)


def statement_at(crash: CrashFact, place: Place) -> Statement:
    """The statement of the traceback around a line of it."""
    for frame in reversed(crash.frames):
        if frame.user and (frame.file, frame.line) == (place.file, place.line):
            return statement_of(frame, place.module)
    return Statement(place, place)


def statement_of(frame: CrashFrame, module: str | None) -> Statement:
    start, lines = frame.code_line or frame.line, frame.code.split("\n")
    inside = frame.line - start if 0 <= frame.line - start < len(lines) else 0
    line = Place(frame.file, frame.line, module, lines[inside])
    return Statement(line, Place(frame.file, start, module, frame.code), frame.failing)


def written_call(code: str, unparsed: str) -> str | None:
    """The call of this meaning as the code writes it."""
    for node in nodes_of(code):
        if isinstance(node, ast.Call) and ast.unparse(node) == unparsed:
            return ast.get_source_segment(code, node)
    return None


def is_plain(argument: Argument) -> bool:
    """A name, an attribute, an entry or a call: something a method can follow without parentheses."""
    node = parse_expression(argument.text)
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)


# One expression of a statement written in another way: the words for it, and the edit.
Explanation = tuple[str, Change, str]  # the message, what to do, and why; an empty why stands for the explainer's own


def statement_place(crash: CrashFact) -> Place:
    """The whole statement of the user's that was running."""
    frame = user_frame(crash)
    return statement_of(frame, crash.place.module).whole if frame is not None else crash.place


def running_line(crash: CrashFact) -> str:
    """`loss.backward()` at train.py:12"""
    frame = user_frame(crash)
    return f"`{one_line(frame.code)}` at {place_text(crash.place)}" if frame is not None else "Backward"


def edited_place(crash: CrashFact, change: Change) -> Place:
    """The line to look at: the one the edit changes, else where the change belongs, else the crash's own."""
    if change.edit is not None:
        return Place(change.edit.file, change.edit.line, crash.place.module, change.edit.before)
    where = change.where if change.where.file else crash.place
    return Place(where.file, where.line, crash.place.module, (where.code or "").partition("\n")[0])


def with_change(
    crash: CrashFact,
    message: str,
    why: str,
    change: Change,
    evidence: dict[str, float | str],
    confidence: float = 0.97,
) -> Blame:
    """The finding whose fix is this change, at the line that it changes."""
    where = edited_place(crash, change)
    return Blame(message, why, as_sentence(change.text), where, evidence, confidence, change.edit)


def respelled(place: Place, meaning: str, after: str) -> Change:
    """Write `after` where the place's code has the one expression of this meaning."""
    found = written(place, meaning)
    if found is None or found == after:
        return Change(f"write `{after}` at {place_text(place)}", None, place)
    text = f"write `{after}` instead of `{found}` at {place_text(place)}"
    return Change(text, _edit(place, meaning, after), place)


def written(place: Place, meaning: str) -> str | None:
    """The one expression of this meaning as the code has it."""
    node = _only(place, meaning)
    return ast.get_source_segment(place.code or "", node) if node is not None else None


def _only(place: Place, meaning: str) -> ast.expr | None:
    tree = parse_statement(place.code or "") if (place.code or "").isascii() else None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)] if isinstance(tree, ast.Module) else []
    found = [node for node in nodes if ast.unparse(node) == meaning]
    return found[0] if len(found) == 1 else None


def _edit(place: Place, meaning: str, after: str) -> Edit | None:
    node, lines = _only(place, meaning), (place.code or "").split("\n")
    if node is None or place.file is None or place.line is None or node.lineno != node.end_lineno:
        return None
    line = lines[node.lineno - 1]
    changed = line[: node.col_offset] + after + line[node.end_col_offset :]
    return Edit(place.file, place.line + node.lineno - 1, line, changed)


def line_replaced(place: Place, after: str) -> Edit | None:
    """The edit that writes `after`, which may be several lines, for the first line of the place's code."""
    if not place.file or not place.line or not place.code:
        return None
    return Edit(place.file, place.line, place.code.partition("\n")[0], after)


def line_of_one(place: Place, after: str) -> Edit | None:
    """The same, where the code takes a single line."""
    return line_replaced(place, after) if "\n" not in (place.code or "") else None


def first_line(place: Place) -> str:
    return (place.code or "").partition("\n")[0]


def change_argument(place: Place, function: str, position: int, keyword: str, pattern: str, else_do: str) -> Change:
    """Write `pattern` ("[{}]") around an argument of the place's one call of a function; `else_do` says it in words."""
    calls = calls_of(place.code or "", function)
    argument = argument_of(calls[0], position, keyword) if len(calls) == 1 else None
    if argument is None:
        return Change(f"{else_do} at {place_text(place)}", None, place)
    after = argument.replaced(pattern.format(argument.text))
    return Change(f"write `{after}` at {place_text(place)}", rewritten(place, argument.call, after), place)


# The expressions of a crashing line, read together with the tensors its frame holds.
_CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64",
    "int": "int32", "bool": "bool",
}  # fmt: skip
_ARITHMETIC = ast.Add, ast.Sub, ast.Mult, ast.Div


class Line:
    """One statement of the user's, with the tensors its names stand for."""

    def __init__(self, frame: CrashFrame, flow: Sequence[FlowStep] = ()) -> None:
        self.text = frame.code
        self.failing = frame.failing
        self._flow = flow
        self._tensors = {_plain(tensor.name): tensor for tensor in frame.tensors}
        self._tree = parse_statement(frame.code)

    def all_nodes(self) -> list[ast.expr]:
        """The expressions of the statement, operands before what uses them."""
        return list(_inside_out(self._tree)) if self._tree else []

    def nodes(self) -> list[ast.expr]:
        """The expressions to judge: the one that raised, or all where Python does not tell which."""
        # `out += x` as the expression `out + x` that it evaluates.
        statement = first_statement(self.failing)
        failing = ast.unparse(_operation(statement)) if isinstance(statement, ast.AugAssign) else self.failing
        return [node for node in self.all_nodes() if ast.unparse(node) == failing or not failing]

    def written(self, node: ast.expr) -> str:
        """The expression as written, over several lines if it is."""
        return ast.get_source_segment(self.text, node) or ast.unparse(node)

    def source(self, node: ast.expr) -> str:
        """The expression as written; one that spans several lines is put on one."""
        text = self.written(node)
        return text if "\n" not in text else ast.unparse(node)

    def tensor(self, node: ast.expr) -> LocalTensor | None:
        """What is known of an expression's tensor: a name, an entry, or something made of known ones."""
        held = self._tensors.get(_plain(ast.unparse(node)))
        if held is None and isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
            held = self._changed(node.value, "transpose", [-2, -1])
        elif held is None and isinstance(node, ast.Call):
            held = self._called(node)
        elif held is None and isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            held = self._combined(node.left, node.right)
        elif held is None and isinstance(node, ast.Compare) and len(node.comparators) == 1:
            compared = self._combined(node.left, node.comparators[0])
            held = dataclasses.replace(compared, dtype="bool") if compared is not None else None
        return dataclasses.replace(held, name=self.source(node)) if held is not None else None

    def entries(self, name: str) -> list[LocalTensor]:
        """The tensors of a list or tuple held under a name: outs[0], outs[1], ..."""
        found = [self._tensors.get(f"{name}[{index}]") for index in range(len(self._tensors))]
        return [tensor for tensor in found if tensor is not None]

    def _called(self, node: ast.Call) -> LocalTensor | None:
        name, operands = called(node)
        numbers = [number(operand) for operand in operands[1:]]
        if name in _CASTS and len(operands) == 1 and (held := self.tensor(operands[0])) is not None:
            return dataclasses.replace(held, dtype=_CASTS[name])
        if operands and same_shape(name) and (held := self.tensor(operands[0])) is not None:
            return _floating(held)
        if operands and None not in numbers and not node.keywords:
            changed = self._changed(operands[0], name, [value for value in numbers if value is not None])
            if changed is not None:
                return changed
        # What self.up(x) gave, where the shape flow knows the layer's one run.
        name = ast.unparse(node.func).removeprefix("self.")
        made = [step.made for step in self._flow if step.path.endswith(f".{name}")]
        if len(made) != 1 or len(made[0]) != 1:
            return None
        return LocalTensor(name, made[0][0], "", "", False)

    def _changed(self, inner: ast.expr, method: str, numbers: list[int]) -> LocalTensor | None:
        held = self.tensor(inner)
        shape = method_shape(held.shape, method, numbers) if held is not None else None
        return dataclasses.replace(held, shape=shape) if held is not None and shape is not None else None

    def _combined(self, first: ast.expr, second: ast.expr) -> LocalTensor | None:
        left, right = self.tensor(first), self.tensor(second)
        if left is None or right is None:
            return _floating(left or right) if _is_number(first) or _is_number(second) else None
        shape, dtype = broadcast(left.shape, right.shape), left.dtype if left.dtype == right.dtype else ""
        return _floating(dataclasses.replace(left, shape=shape, dtype=dtype)) if shape is not None else None


def _floating(tensor: LocalTensor | None) -> LocalTensor | None:
    """A floating dtype survives most operations; what becomes of another one is not known."""
    if tensor is None or is_floating(tensor.dtype):
        return tensor
    return dataclasses.replace(tensor, dtype="")


def number(node: ast.expr) -> int | None:
    """A whole number written out, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _is_number(node: ast.expr) -> bool:
    return number(node) is not None or (isinstance(node, ast.Constant) and isinstance(node.value, float))


def _plain(text: str) -> str:
    return text.replace('"', "'").replace(" ", "")


def _operation(node: ast.AugAssign) -> ast.BinOp:
    left = ast.parse(ast.unparse(node.target), mode="eval").body
    return ast.copy_location(ast.BinOp(ast.copy_location(left, node.target), node.op, node.value), node)


def _inside_out(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        yield from _inside_out(child)
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.AugAssign):
            yield _operation(child)


def explain_nodes(
    crash: CrashFact, judge: Callable[[Line, ast.expr], Blame | None], kinds: tuple[str, ...] = ("RuntimeError",)
) -> Blame | None:
    """The first expression of the user's line that a judge blames, when torch itself raised there."""
    frame = user_frame(crash)
    if frame is None or crash.kind not in kinds or crash.layer is not None or not ended_in_torch(crash):
        return None
    line = Line(frame, crash.flow)
    return first_of(judge(line, node) for node in line.nodes())


def two_tensors(line: Line, operands: list[ast.expr]) -> tuple[LocalTensor, LocalTensor] | None:
    """The operands of a binary operator, where both are known tensors."""
    tensors = [tensor for operand in operands if (tensor := line.tensor(operand)) is not None]
    return (tensors[0], tensors[1]) if len(operands) == len(tensors) == 2 else None


def called(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """The function's name and its operands: `torch.mm(a, b)` and `a.mm(b)` alike give mm, [a, b]."""
    if not isinstance(node, ast.Call):
        return "", []
    if not isinstance(node.func, ast.Attribute):
        return getattr(node.func, "id", ""), list(node.args)
    owner = ast.unparse(node.func.value)
    is_method = owner not in ("torch", "F", "torch.nn.functional", "nn.functional", "functional")
    return node.func.attr, [node.func.value, *node.args] if is_method else list(node.args)


# An operand of the expression that crashed, written in another form.
def change_operand(crash: CrashFact, line: Line, node: ast.expr, operand: str, form: str) -> tuple[str, Edit | None]:
    """The expression with `form` in the operand's place, as text and as an edit."""
    written, told = line.written(node), with_operand(line.source(node), operand, form)
    changed = with_operand(written, operand, form)
    return told, rewritten(statement_at(crash, crash.place).whole, written, changed)


# The shape an operation gives, from the shapes of what it is given.
Shape = tuple[int, ...]
_SAME = (
    "detach", "cpu", "cuda", "contiguous", "clone", "relu", "relu_", "sigmoid", "tanh", "exp", "log", "abs",
    "sqrt", "softmax", "log_softmax", "dropout", "gelu", "silu", "leaky_relu", "normalize", "zeros_like",
    "ones_like", "rand_like", "randn_like", "clamp",
)  # fmt: skip


def same_shape(function: str) -> bool:
    """Whether a function gives its first operand's shape back, whatever else it is given."""
    return function in _SAME


def broadcast(left: Shape, right: Shape) -> Shape | None:
    """The common shape of two operands; None where they have none."""
    if clash(left, right) is not None:
        return None
    return tuple(max(pair) if 0 not in pair else 0 for pair in zip_longest(left[::-1], right[::-1], fillvalue=1))[::-1]


def clash(left: Shape, right: Shape) -> tuple[int, int] | None:
    """The first two sizes, counted from the right, that do not broadcast."""
    for first, second in zip_longest(reversed(left), reversed(right), fillvalue=1):
        if first != second and 1 not in (first, second):
            return first, second
    return None


def method_shape(shape: Shape, method: str, numbers: list[int]) -> Shape | None:
    """What x.transpose(1, 2), x.unsqueeze(0), ... make of a shape; None where that is not known."""
    rank = len(shape)
    if method == "t" and not numbers:
        return shape[::-1] if rank == 2 else None
    if method == "transpose" and len(numbers) == 2 and all(-rank <= place < rank for place in numbers):
        return _transposed(shape, *numbers)
    if method == "unsqueeze" and len(numbers) == 1 and -rank - 1 <= numbers[0] <= rank:
        place = numbers[0] % (rank + 1)
        return (*shape[:place], 1, *shape[place:])
    if method == "squeeze" and len(numbers) == 1 and -rank <= numbers[0] < rank:
        return tuple(size for place, size in enumerate(shape) if place != numbers[0] % rank or size != 1)
    if method == "permute" and sorted(numbers) == list(range(rank)):
        return tuple(shape[place] for place in numbers)
    return None


def _transposed(shape: Shape, first: int, second: int) -> Shape:
    sizes = list(shape)
    sizes[first], sizes[second] = sizes[second], sizes[first]
    return tuple(sizes)


# The words for dtypes: which family one belongs to, and the method that converts to it.
_CAST_METHODS = {
    "float32": ".float()",
    "float64": ".double()",
    "float16": ".half()",
    "bfloat16": ".bfloat16()",
    "int64": ".long()",
    "int32": ".int()",
    "bool": ".bool()",
}


def cast_to(dtype: str) -> str:
    """.float() for float32, .to(torch.uint8) where there is no method of its own"""
    return _CAST_METHODS.get(dtype, f".to(torch.{dtype})")


def is_floating(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def is_whole(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))


def numpy_hint(dtype: str) -> str:
    """Where float64 usually comes from."""
    return "; numpy arrays are float64 unless told otherwise" if dtype == "float64" else ""
