"""What the words of the user's line stand for, looked up and never run."""

from __future__ import annotations

import ast
import builtins
import contextlib
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType, MappingProxyType, ModuleType
from typing import Any, TypeGuard

import torch
from torch import nn

from torch_debugger.crashes.frames import (
    LiveFrame,
    attribute,
    describe,
    is_tensor,
    kind_name,
)
from torch_debugger.records import Place
from torch_debugger.source.files import covers, place_at, tree_of
from torch_debugger.source.objects import is_a, is_one_of, own_attributes
from torch_debugger.source.statements import function_around
from torch_debugger.stats.dispatch_modes import no_grad

UNKNOWN = object()  # what an expression stands for when that cannot be told without running it
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ENTRIES = 6


def value_of(seen: LiveFrame, node: ast.AST) -> Any:
    """The object an expression stands for; UNKNOWN for calls, properties and all that would run code."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for names in (seen.locals, seen.frame.f_globals, vars(builtins)):
            if node.id in names:
                return names[node.id]
    if isinstance(node, ast.Attribute) and (owner := value_of(seen, node.value)) is not UNKNOWN:
        return attribute_of(owner, node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _entry(value_of(seen, node.value), node.slice.value)
    return UNKNOWN


def named_in(names: Mapping[str, Any], node: ast.expr) -> Any:
    """What a dotted name stands for among these names: nn.ReLU"""
    if isinstance(node, ast.Name):
        return names.get(node.id, UNKNOWN)
    owner = named_in(names, node.value) if isinstance(node, ast.Attribute) else UNKNOWN
    return attribute_of(owner, node.attr) if isinstance(node, ast.Attribute) and owner is not UNKNOWN else UNKNOWN


def attribute_of(owner: Any, name: str) -> Any:
    """An attribute kept in a dictionary of the object or of its class; no descriptor is asked."""
    if type(owner) is ModuleType:
        return vars(owner).get(name, UNKNOWN)
    kind = owner if is_a(owner, type) else type(owner)
    own = own_attributes(owner) if kind is not owner else {}
    spaces = (own, own.get("_parameters"), own.get("_buffers"), own.get("_modules"), *map(vars, kind.__mro__))
    return next((space[name] for space in spaces if is_a(space, (dict, MappingProxyType)) and name in space), UNKNOWN)


def _entry(owner: Any, key: Any) -> Any:
    if is_one_of(owner, (list, tuple)) and type(key) is int and -len(owner) <= key < len(owner):
        return owner[key]
    if type(owner) is dict and is_one_of(key, (str, int)) and key in owner:
        return owner[key]
    modules = attribute_of(owner, "_modules") if owner is not UNKNOWN else None
    return modules.get(str(key), UNKNOWN) if is_a(modules, dict) else UNKNOWN


def words_for(value: Any) -> str:
    """a tensor [8, 4] (float32), None, a list of 2, a Net"""
    if value is None or is_one_of(value, (int, float, bool)):
        return repr(value)
    if is_tensor(value):
        fact = describe("", value)
        return f"a tensor {list(fact.shape)}" if fact is not None else "a tensor"
    if kind_name(type(value)) == "numpy.ndarray":
        return f"a numpy array {list(value.shape)}"
    if is_one_of(value, (list, tuple, dict, set)):
        return f"a {type(value).__name__} of {len(value)}"
    name = kind_name(type(value)).rpartition(".")[2]
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def entries_of(value: Any) -> tuple[str, ...]:
    """What a container or a plain object holds, in words: `[0]` a tensor [8, 4]"""
    if is_one_of(value, (list, tuple)):
        return tuple(f"[{index}] {words_for(item)}" for index, item in enumerate(value[:_ENTRIES]))
    if is_a(value, dict):
        return tuple(f"[{key!r}] {words_for(item)}" for key, item in list(value.items())[:_ENTRIES])
    if is_a(value, tuple) and hasattr(value, "_fields"):
        return tuple(f".{name} {words_for(item)}" for name, item in zip(value._fields, value, strict=False))
    attributes = list(own_attributes(value).items())
    return tuple(f".{name} {words_for(item)}" for name, item in attributes[:_ENTRIES])


def statement_node(seen: LiveFrame) -> ast.stmt | None:
    """The innermost statement that covers the line."""
    nodes = ast.walk(tree_of(seen.file) or ast.Module([], []))
    covering = [node for node in nodes if isinstance(node, ast.stmt) and covers(node, seen.line)]
    return max(covering, key=lambda node: (node.lineno, node.col_offset), default=None)


def expressions_in(seen: LiveFrame) -> list[ast.expr]:
    """The expression that raised; where Python does not tell, all of the statement, inner ones first."""
    statement = statement_node(seen)
    nodes = list(_own_expressions(statement)) if statement is not None else []
    return [node for node in nodes if seen.failing and ast.unparse(node) == seen.failing] or nodes


def _own_expressions(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _own_expressions(child)
            if isinstance(child, ast.expr):
                yield child


def calls_on_line(seen: LiveFrame) -> list[ast.Call]:
    return [node for node in expressions_in(seen) if isinstance(node, ast.Call)]


@dataclass(frozen=True)
class Binding:
    """The statement that gave a name its value."""

    node: ast.Assign | ast.For
    value: ast.expr
    place: Place
    loops: bool = False  # a for loop's target: the value is what is looped over


def binding_of(seen: LiveFrame, name: str) -> Binding | None:
    """The last assignment to a name above the line, in the same function or file."""
    here, tree = statement_node(seen), tree_of(seen.file)
    if here is None or tree is None:
        return None
    found: Binding | None = None
    for node in _own_statements(function_around(tree, seen.line) if seen.function != "<module>" else tree):
        if isinstance(node, ast.Assign | ast.For) and node.lineno < here.lineno:
            targets, value = (node.targets, node.value) if isinstance(node, ast.Assign) else ([node.target], node.iter)
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                found = Binding(node, value, place_at(seen.file, node.lineno), isinstance(node, ast.For))
    return found


def _own_statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """Statements of a function or file in their order, without those of functions and classes inside it."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            yield from _own_statements(child)


# The tensors that meet in an expression of the user's, as objects, read from its frame without running it.
# What these give is on another device, or is no tensor at all.
_NOT_THE_TENSOR = frozenset({
    "to", "cuda", "cpu", "mps", "xpu", "type_as", "to_device", "size", "dim", "numel", "shape", "device",
    "dtype", "item", "tolist", "numpy", "len", "range", "new_zeros", "new_ones", "new_full", "new_tensor",
    "zeros_like",
    "ones_like", "rand_like", "randn_like", "full_like", "empty_like",
})  # fmt: skip
_VIEWS = ("T", "mT", "H", "data", "real", "imag")
_MOST_OPERANDS = 64

Named = tuple[str, Any]  # the user's text for it, the tensor


def operands_of(seen: LiveFrame, expression: str) -> list[Named]:
    """The tensors that meet in an expression, under the names it gives them."""
    body = getattr(parsed(expression), "body", [])
    return list(_operands(body[0].value, seen, outermost=True)) if body and isinstance(body[0], ast.Expr) else []


def _operands(node: ast.AST, seen: LiveFrame, outermost: bool = False) -> Iterator[Named]:
    value = resolve(node, seen)
    if is_tensor(value):
        yield ast.unparse(node), value
    elif is_one_of(value, (list, tuple)):
        parts = enumerate(value[:_MOST_OPERANDS])
        yield from ((f"{ast.unparse(node)}[{index}]", part) for index, part in parts if is_tensor(part))
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        # What a model or a function of the user's makes of its arguments is not known from the text.
        opaque = is_a(resolve(node.func, seen), nn.Module) or isinstance(node.func, ast.Name)
        if outermost or not (opaque or name in _NOT_THE_TENSOR):
            owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            for part in (*owner, *node.args, *node.keywords):
                yield from _operands(part, seen)
    elif isinstance(node, ast.Attribute):
        yield from _operands(node.value, seen) if node.attr in _VIEWS else ()
    elif isinstance(node, ast.Subscript):
        yield from _operands(node.value, seen)
        yield from _operands(node.slice, seen)
    elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Tuple, ast.List, ast.keyword, ast.Starred)):
        for part in ast.iter_child_nodes(node):
            yield from _operands(part, seen)


def running_expression(seen: LiveFrame) -> str:
    """The expression of the frame's line that raised; where Python does not tell, the statement's whole one."""
    if seen.failing:
        return seen.failing
    operation = re.fullmatch(r"(?s)([\w.\[\]]+)\s*([-+*/@])=\s*(.+)", seen.code)
    if operation is not None:
        return f"{operation[1]} {operation[2]} ({operation[3]})"
    return re.sub(r"(?s)^(return\s+|[\w.\[\], ]+=(?!=)\s*)", "", seen.code)


def resolve(node: ast.AST, seen: LiveFrame) -> Any:
    """The object a name, an attribute or an entry stands for, read from dictionaries only; None if unknown."""
    if isinstance(node, ast.Name):
        return seen.named(node.id)
    if isinstance(node, ast.Attribute):
        return attribute(resolve(node.value, seen), node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        found = _entry(resolve(node.value, seen), node.slice.value)
        return None if found is UNKNOWN else found
    return None


# The condition on which the user's own line raised: an assert's, or that of the `if` around a `raise`.
_LOOKED_AT = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)


@dataclass(frozen=True)
class FailedCondition:
    test: ast.expr
    asserted: bool  # of an assert; else of the `if` around a raise
    values: tuple[tuple[str, Any], ...]  # its parts whose value is known, as ast.unparse writes them


def condition_at(seen: LiveFrame) -> FailedCondition | None:
    """None where the frame's line is neither an assert nor a raise below an if."""
    around = [node for node in ast.walk(tree_of(seen.file) or ast.Module([], [])) if covers(node, seen.line)]
    line = statement_node(seen)
    if isinstance(line, ast.Assert):
        test: ast.expr | None = line.test
    else:
        tests = (node.test for node in around if isinstance(node, ast.If) and line in node.body)
        test = next(tests, None) if isinstance(line, ast.Raise) else None
    if test is None:
        return None
    found: dict[str, Any] = {}
    for node in ast.walk(test):
        if isinstance(node, _LOOKED_AT):
            with contextlib.suppress(UnknownValueError):
                found.setdefault(ast.unparse(node), computed_value(node, seen.frame))
    return FailedCondition(test, isinstance(line, ast.Assert), tuple(found.items()))


# What an expression of the user's line stood for, worked out again from the live frame.
#
# Only what cannot change anything is evaluated: names, attributes kept in dictionaries, entries, and plain methods of
# tensors on the CPU. Nothing of the user's is called.
_METHODS = frozenset({
    "long", "int", "float", "view", "view_as", "reshape", "unsqueeze", "squeeze", "flatten", "t", "transpose",
    "permute", "expand", "expand_as", "detach", "contiguous", "clone", "argmax", "size", "numel", "dim", "item",
    "max", "min", "all", "any", "isnan", "isinf", "isfinite", "ndimension",
})  # fmt: skip
_FACTS = ("shape", "T", "data", "mT", "dtype", "device", "ndim", "requires_grad", "is_leaf")
_TORCH_FUNCTIONS = frozenset({"arange", "isnan", "isinf", "isfinite", "any", "all", "max", "min", "allclose", "equal"})
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
_PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.Size)
_LARGEST = 10_000_000  # elements


class UnknownValueError(Exception):
    """An expression that is not worked out again."""


def computed_value(node: ast.expr, frame: FrameType) -> Any:
    """The value of an expression in a frame; raises UnknownValueError for whatever might do more than look."""
    try:
        with no_grad(), torch.utils._python_dispatch._disable_current_modes():
            return _value(node, frame)
    except Exception as error:
        raise UnknownValueError from error


def computed_or_none(node: ast.expr, seen: LiveFrame) -> Any:
    try:
        return computed_value(node, seen.frame)
    except UnknownValueError:
        return None


def parsed(text: str) -> ast.AST:
    """An expression, a statement, or the first line of a compound one; an empty file for anything else."""
    for form in (text, f"{text}\n pass", f"if True: pass\n{text}\n pass"):
        try:
            return ast.parse(form)
        except (SyntaxError, ValueError):
            continue
    return ast.Module([], [])


def is_plain_tensor(value: Any) -> TypeGuard[torch.Tensor]:
    """A tensor in memory, of no class of the user's, and small enough to be read through."""
    plain = is_one_of(value, (torch.Tensor, torch.nn.Parameter)) and value.layout is torch.strided
    return bool(plain and value.device.type == "cpu" and value.numel() <= _LARGEST)


def _value(node: ast.expr, frame: FrameType) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return _looked_up({**frame.f_globals, **frame.f_locals}, node.id)
    if isinstance(node, ast.Tuple | ast.List):
        return [_value(item, frame) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_operand(node.operand, frame)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _operand(node.left, frame), _operand(node.right, frame)
        if len({value.shape for value in (left, right) if is_plain_tensor(value) and value.dim()}) > 1:
            raise UnknownValueError  # broadcasting may need any amount of memory
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Attribute):
        return _attribute(node, frame)
    if isinstance(node, ast.Subscript):
        owner, key = _value(node.value, frame), _value(node.slice, frame)
        if is_plain_tensor(owner):
            return owner[tuple(key) if isinstance(node.slice, ast.Tuple) else key]
        if is_one_of(owner, (list, tuple, dict, torch.Size)) and is_one_of(key, (int, str, slice)):
            return owner[key]
        raise UnknownValueError
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else _operand(part, frame) for part in parts))
    return _called(node, frame)


def _looked_up(names: Mapping[str, Any], name: str) -> Any:
    if name not in names:
        raise UnknownValueError
    return names[name]


def _operand(node: ast.expr, frame: FrameType) -> Any:
    value = _value(node, frame)
    if is_one_of(value, _PLAIN) or is_plain_tensor(value):
        return value
    raise UnknownValueError


def _attribute(node: ast.Attribute, frame: FrameType) -> Any:
    owner = _value(node.value, frame)
    if is_plain_tensor(owner) and node.attr in _FACTS:
        return getattr(owner, node.attr)
    if type(owner) is ModuleType:
        return _looked_up(vars(owner), node.attr)
    if type(owner) is torch.device and node.attr in ("type", "index"):
        return getattr(owner, node.attr)
    return attribute(owner, node.attr)


def _called(node: ast.expr, frame: FrameType) -> Any:
    if not isinstance(node, ast.Call):
        raise UnknownValueError
    if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        value = _value(node.args[0], frame)
        if is_one_of(value, (list, tuple, dict, str, torch.Size)) or is_plain_tensor(value):
            return len(value)
        raise UnknownValueError
    args = [_operand(item, frame) for item in node.args]
    named = {word.arg or "": _operand(word.value, frame) for word in node.keywords}
    module, _, function = ast.unparse(node.func).rpartition(".")
    if module == "torch" and function in _TORCH_FUNCTIONS and frame.f_globals.get("torch") is torch:
        return getattr(torch, function)(*args, **named)
    owner = _value(node.func.value, frame) if isinstance(node.func, ast.Attribute) else None
    if isinstance(node.func, ast.Attribute) and is_plain_tensor(owner):
        # `to` only with a dtype: another device may be dead
        to_dtype = function == "to" and len(args) == 1 and type(args[0]) is torch.dtype
        if function in _METHODS or to_dtype:
            return getattr(owner, function)(*args, **named)
    raise UnknownValueError
