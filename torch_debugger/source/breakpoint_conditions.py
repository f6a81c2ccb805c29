"""The small language of conditions, as it is written: `nan(output) and step > 100`, `EXPR @ GLOB`.

No torch in here: the command line refuses a bad condition before the script starts.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch_debugger.system.errors import UsageError


@dataclass(frozen=True)
class Condition:
    """What was written, and what it means."""

    text: str
    tree: Node
    names: frozenset[str]


def parse_condition(text: str) -> Condition:
    """'norm(grad) > 100' -> its tree; ConditionError where it makes no sense."""
    clean = " ".join(str(text).splitlines()).strip()
    tree = Reader(clean).read()
    names = frozenset(part.word for part in parts_of(tree) if isinstance(part, Variable))
    implied = {"weight" for part in parts_of(tree) if isinstance(part, FunctionCall) and part.function == "parameter"}
    return Condition(clean, tree, names | implied)


def parse_break(text: str) -> tuple[Condition, str | None]:
    """'EXPR @ GLOB' as on the command line -> the condition, and which modules are meant."""
    match = re.fullmatch(r"(.*?)(?:@([^@'\"]*))?", " ".join(text.splitlines()))
    assert match is not None
    expression, glob = match.group(1), match.group(2)
    if glob is not None and not glob.strip():
        raise ConditionError(f"After @ stands which modules are meant, such as `encoder.*`: {text!r}.")
    return parse_condition(expression), glob.strip() if glob is not None else None


# The words of the condition language: which names and functions there are, and what each is about.
#
# A kind is what a part of a condition stands for: a tensor (or several), a number, a truth, a text or a shape. Kinds
# are known before anything runs, so a condition that makes no sense is refused when it is written and not at step
# 500.
TENSOR, NUMBER, TRUTH, TEXT, SHAPE = "a tensor", "a number", "a truth", "a text", "a shape"

NAMES: dict[str, str] = {
    "input": TENSOR,  # what the module was called with
    "output": TENSOR,  # what its forward gave
    "grad": TENSOR,  # the gradient that came back to its output
    "weight": TENSOR,
    "bias": TENSOR,
    "module": TEXT,  # the name of its class
    "path": TEXT,  # net.encoder.0
    "training": TRUTH,  # train() or eval()
    "step": NUMBER,
    "loss": NUMBER,
}

PER_CALL = frozenset({"input", "output", "grad", "weight", "bias", "module", "path", "training"})


@dataclass(frozen=True)
class Function:
    """One argument of certain kinds goes in, one kind comes out; None: the kind that went in."""

    takes: tuple[str, ...]
    gives: str | None


_NUMBERS = Function((TENSOR,), NUMBER)
FUNCTIONS: dict[str, Function] = {
    "nan": Function((TENSOR, NUMBER), TRUTH),
    "inf": Function((TENSOR, NUMBER), TRUTH),
    "finite": Function((TENSOR, NUMBER), TRUTH),
    "any": Function((TENSOR,), TRUTH),
    "all": Function((TENSOR,), TRUTH),
    "norm": _NUMBERS,
    "min": _NUMBERS,
    "max": _NUMBERS,
    "mean": _NUMBERS,
    "std": _NUMBERS,
    "sum": _NUMBERS,
    "zeros": _NUMBERS,  # their share, from 0 to 1
    "dim": _NUMBERS,
    "numel": _NUMBERS,
    "len": Function((TENSOR, SHAPE), NUMBER),
    "abs": Function((TENSOR, NUMBER), None),
    "shape": Function((TENSOR,), SHAPE),
    "dtype": Function((TENSOR,), TEXT),  # "float16"
    "device": Function((TENSOR,), TEXT),  # "cuda:0"
    "parameter": Function((TEXT,), TENSOR),  # parameter("weight_ih_l0"): any parameter or buffer of the module
}


# A condition, parsed: our own small tree. Whatever is not one of these does not exist.
@dataclass(frozen=True)
class Literal:
    """A number, a text, a truth; or a shape, in which None fits any size and ... any number of them."""

    value: Any


@dataclass(frozen=True)
class Variable:
    word: str


@dataclass(frozen=True)
class FunctionCall:
    function: str
    argument: Node


@dataclass(frozen=True)
class IndexedTerm:
    """output[0], output["logits"], shape(input)[-1]"""

    whole: Node
    key: Node


@dataclass(frozen=True)
class OperatorTerm:
    """Arithmetic with one or two parts, and a comparison of two."""

    symbol: str
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Junction:
    """`and`, `or` with two parts or more; they stop at the first that decides."""

    word: str
    parts: tuple[Node, ...]


Node = Literal | Variable | FunctionCall | IndexedTerm | OperatorTerm | Junction


def parts_of(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    below: tuple[Node, ...] = ()
    if isinstance(node, OperatorTerm | Junction):
        below = node.parts
    elif isinstance(node, FunctionCall):
        below = (node.argument,)
    elif isinstance(node, IndexedTerm):
        below = (node.whole, node.key)
    for part in below:
        yield from parts_of(part)


# Reads the text of a condition into a tree of our own, or says what is wrong with it and where.
#
# Python's parser takes the text apart and nothing of it is ever run by Python.
LONGEST, DEEPEST = 1000, 30  # characters; brackets and operators inside each other

_ARITHMETIC: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_SIGNS: dict[type[ast.AST], str] = {ast.USub: "-", ast.UAdd: "+"}
_COMPARISONS: dict[type[ast.AST], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_COUNTABLE = (NUMBER, TRUTH)

Typed = tuple[Node, str]  # a node and its kind


class ConditionError(UsageError):
    """A condition that cannot be understood; the text shows the place."""


class Reader:
    """Reads one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0

    def read(self) -> Node:
        if not self._text:
            raise ConditionError("A condition is expected, such as `nan(output)` or `norm(grad) > 100`.")
        if len(self._text) > LONGEST:
            raise ConditionError(f"A condition has at most {LONGEST} characters; this one has {len(self._text)}.")
        parsed = self._parse()
        node, kind = self._node(parsed)
        if kind is not TRUTH:
            raise self._error(parsed, _not_a_truth(kind))
        return node

    def _parse(self) -> ast.expr:
        try:
            return ast.parse(self._text, mode="eval").body
        except SyntaxError as error:
            start = max(0, min((error.offset or 1) - 1, len(self._text)))
            raise self._at(start, start + 1, f"This cannot be read: {error.msg}.") from None
        except (RecursionError, MemoryError, ValueError):
            raise ConditionError(f"This condition is nested too deeply to be read: {self._text[:60]}...") from None

    def _node(self, node: ast.AST) -> Typed:
        read = _READERS.get(type(node))
        if read is None:
            raise self._error(node, _not_in_the_language(node))
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(node, f"The condition is nested more than {DEEPEST} deep here.")
        found = read(self, node)
        self._depth -= 1
        return found

    def _constant(self, node: ast.Constant) -> Typed:
        value = node.value
        if isinstance(value, bool):
            return Literal(value), TRUTH
        if isinstance(value, int | float):
            return Literal(value), NUMBER
        if isinstance(value, str):
            return Literal(value), TEXT
        raise self._error(node, "A number or a text is expected here.")

    def _name(self, node: ast.Name) -> Typed:
        if node.id not in NAMES:
            hint = f"write {node.id}(output)." if node.id in FUNCTIONS else _nearest(node.id, NAMES, "names")
            raise self._error(node, f"There is no name `{node.id}` here; {hint}")
        return Variable(node.id), NAMES[node.id]

    def _call(self, node: ast.Call) -> Typed:
        if not isinstance(node.func, ast.Name):
            raise self._error(node.func, "A function's name is expected before the bracket.")
        word = node.func.id
        if word not in FUNCTIONS:
            raise self._error(node.func, f"There is no function `{word}`; {_nearest(word, FUNCTIONS, 'functions')}")
        if len(node.args) != 1 or node.keywords:
            raise self._error(node, f"`{word}` takes one thing, such as {word}({_example(word)}).")
        argument, kind = self._node(node.args[0])
        function = FUNCTIONS[word]
        if kind not in function.takes:
            raise self._error(node.args[0], f"`{word}` takes {' or '.join(function.takes)}, and this is {kind}.")
        if word == "parameter" and not isinstance(argument, Literal):
            raise self._error(node.args[0], "The parameter's name is expected, such as parameter('weight_ih_l0').")
        return FunctionCall(word, argument), function.gives or kind

    def _item(self, node: ast.Subscript) -> Typed:
        whole, kind = self._node(node.value)
        key, key_kind = self._node(node.slice)
        if kind not in (TENSOR, SHAPE):
            raise self._error(node.value, f"Only tensors and shapes have items, and this is {kind}.")
        if key_kind is not NUMBER and not (kind is TENSOR and key_kind is TEXT):
            raise self._error(node.slice, f"A number is expected in the brackets, and this is {key_kind}.")
        return IndexedTerm(whole, key), NUMBER if kind is SHAPE else TENSOR

    def _shape(self, node: ast.Tuple | ast.List) -> Typed:
        sizes = [self._size(part) for part in node.elts]
        return Literal(tuple(sizes)), SHAPE

    def _size(self, node: ast.expr) -> Any:
        value = node.value if isinstance(node, ast.Constant) else 0.5
        if value is None or value is ... or (type(value) is int and value >= 0):
            return value
        raise self._error(node, "A shape holds whole numbers, None for any size and ... for any number of sizes.")

    def _arithmetic(self, node: ast.BinOp) -> Typed:
        if type(node.op) not in _ARITHMETIC:
            raise self._error(node, "The arithmetic here is + - * / // % **.")
        symbol = _ARITHMETIC[type(node.op)]
        return self._operation(symbol, (node.left, node.right))

    def _unary(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            return OperatorTerm("not", (self._truth(node.operand),)), TRUTH
        if type(node.op) not in _SIGNS:
            raise self._error(node, "The arithmetic here is + - * / // % **.")
        return self._operation(_SIGNS[type(node.op)], (node.operand,))

    def _operation(self, symbol: str, parts: Sequence[ast.expr]) -> Typed:
        read = [self._node(part) for part in parts]
        for part, (_, kind) in zip(parts, read, strict=True):
            if kind not in (TENSOR, *_COUNTABLE):
                raise self._error(part, f"`{symbol}` takes numbers and tensors, and this is {kind}.")
        kind = TENSOR if TENSOR in {kind for _, kind in read} else NUMBER
        return OperatorTerm(symbol, tuple(part for part, _ in read)), kind

    def _junction(self, node: ast.BoolOp) -> Typed:
        word = "and" if isinstance(node.op, ast.And) else "or"
        return Junction(word, tuple(self._truth(part) for part in node.values)), TRUTH

    def _truth(self, node: ast.expr) -> Node:
        part, kind = self._node(node)
        if kind is not TRUTH:
            raise self._error(node, _not_a_truth(kind))
        return part

    def _comparison(self, node: ast.Compare) -> Typed:
        sides = [node.left, *node.comparators]
        read = [self._node(side) for side in sides]
        pairs = [self._pair(sides[i + 1], read[i], read[i + 1], op) for i, op in enumerate(node.ops)]
        if len(pairs) == 1:
            return pairs[0]
        if TENSOR in {kind for _, kind in pairs}:
            raise self._error(node, "Tensors are compared two at a time: any(output > 1) and any(output < 2).")
        return Junction("and", tuple(pair for pair, _ in pairs)), TRUTH

    def _pair(self, right: ast.expr, one: Typed, other: Typed, operator: ast.cmpop) -> Typed:
        symbol = _COMPARISONS.get(type(operator))
        if symbol is None:
            raise self._error(right, "The comparisons here are == != < <= > >=.")
        kinds = {NUMBER if kind is TRUTH else kind for kind in (one[1], other[1])}
        if kinds <= {NUMBER} or kinds <= {TENSOR, NUMBER}:
            return OperatorTerm(symbol, (one[0], other[0])), TENSOR if TENSOR in kinds else TRUTH
        if len(kinds) > 1:
            raise self._error(right, f"{one[1].capitalize()} cannot be compared with {other[1]}.")
        if symbol not in ("==", "!="):
            raise self._error(right, f"{other[1].capitalize()} is compared by == or !=, not by {symbol}.")
        if kinds == {SHAPE}:
            fits = OperatorTerm("fits", (one[0], other[0]))
            return (fits if symbol == "==" else OperatorTerm("not", (fits,))), TRUTH
        return OperatorTerm(symbol, (one[0], other[0])), TRUTH

    def _error(self, node: ast.AST, sentence: str) -> ConditionError:
        inside = self._text.encode()
        start = len(inside[: getattr(node, "col_offset", 0)].decode(errors="ignore"))
        end = len(inside[: getattr(node, "end_col_offset", None) or len(inside)].decode(errors="ignore"))
        return self._at(start, end, sentence)

    def _at(self, start: int, end: int, sentence: str) -> ConditionError:
        marks = " " * start + "^" * max(1, end - start)
        return ConditionError(f"{sentence}\n  {self._text}\n  {marks}")


_READERS: dict[type[ast.AST], Callable[[Reader, Any], Typed]] = {
    ast.Constant: Reader._constant,
    ast.Name: Reader._name,
    ast.Call: Reader._call,
    ast.Subscript: Reader._item,
    ast.Tuple: Reader._shape,
    ast.List: Reader._shape,
    ast.BinOp: Reader._arithmetic,
    ast.UnaryOp: Reader._unary,
    ast.BoolOp: Reader._junction,
    ast.Compare: Reader._comparison,
}


def _not_a_truth(kind: str) -> str:
    if kind is TENSOR:
        return "This is a tensor and not one truth: say any(output > 1), max(output) > 1 or nan(output)."
    return f"A condition is true or false, and this is {kind}: compare it, such as norm(output) > 100."


def _not_in_the_language(node: ast.AST) -> str:
    what = "Attributes" if isinstance(node, ast.Attribute) else f"{type(node).__name__} expressions"
    return (
        f"{what} are not part of conditions. Names, numbers, texts, functions, [items], arithmetic, "
        "comparisons, and, or, not are."
    )


def _nearest(word: str, known: dict[str, Any], what: str) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"the {what} are {', '.join(known)}."


def _example(word: str) -> str:
    return "'weight'" if word == "parameter" else "output"
