"""What the words of the user's line stand for, looked up and never run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torch_debugger.anatomy.kinds import is_a, is_one_of, own_attributes
from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.probes.crash_frames import Seen, describe, is_tensor
from torch_debugger.probes.crash_source import failing_expression
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.records import Place

UNKNOWN = object()  # what an expression stands for when that cannot be told without running it
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ENTRIES = 6


def value_of(seen: Seen, node: ast.AST) -> Any:
    """The object an expression stands for; UNKNOWN for calls, properties and all that would run code."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for names in (seen.frame.f_locals, seen.frame.f_globals, vars(builtins)):
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
    return (
        attribute_of(owner, node.attr) if isinstance(node, ast.Attribute) and owner is not UNKNOWN else UNKNOWN
    )


def attribute_of(owner: Any, name: str) -> Any:
    """An attribute kept in a dictionary of the object or of its class; no descriptor is asked."""
    if is_a(owner, type):
        return _of_class(owner, name)
    if type(owner) is ModuleType:
        return vars(owner).get(name, UNKNOWN)
    held = own_attributes(owner)
    for place in (held, held.get("_parameters"), held.get("_buffers"), held.get("_modules")):
        if is_a(place, dict) and name in place:
            return place[name]
    return _of_class(type(owner), name)


def _of_class(owner: type, name: str) -> Any:
    return next((vars(base)[name] for base in owner.__mro__ if name in vars(base)), UNKNOWN)


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
    held = list(own_attributes(value).items())
    return tuple(f".{name} {words_for(item)}" for name, item in held[:_ENTRIES])


def statement_node(seen: Seen) -> ast.stmt | None:
    """The innermost statement that covers the line."""
    tree = tree_of(seen.file)
    covering = [
        node
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.stmt) and node.lineno <= seen.line <= (node.end_lineno or node.lineno)
    ]
    return max(covering, key=lambda node: (node.lineno, node.col_offset), default=None)


def expressions_in(seen: Seen) -> list[ast.expr]:
    """The expression that raised; where Python does not tell, all of the statement, inner ones first."""
    statement = statement_node(seen)
    nodes = list(_own_expressions(statement)) if statement is not None else []
    told = failing_expression(seen.frame.f_code, seen.instruction)
    return [node for node in nodes if told and ast.unparse(node) == told] or nodes


def _own_expressions(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _own_expressions(child)
            if isinstance(child, ast.expr):
                yield child


def calls_in(seen: Seen) -> list[ast.Call]:
    return [node for node in expressions_in(seen) if isinstance(node, ast.Call)]


@dataclass(frozen=True)
class Binding:
    """The statement that gave a name its value."""

    node: ast.stmt
    value: ast.expr
    place: Place
    loops: bool = False  # a for loop's target: the value is what is looped over


def binding_of(seen: Seen, name: str) -> Binding | None:
    """The last assignment to a name above the line, in the same function or file."""
    here = statement_node(seen)
    tree = tree_of(seen.file)
    if here is None or tree is None:
        return None
    scope = function_around(tree, seen.line) if seen.function != "<module>" else tree
    return _last_binding(seen.file, scope, name, here.lineno)


def _last_binding(file: str, scope: ast.AST, name: str, before: int) -> Binding | None:
    found: Binding | None = None
    for node in _own_statements(scope):
        is_loop = isinstance(node, ast.For)
        value = node.value if isinstance(node, ast.Assign) else node.iter if isinstance(node, ast.For) else None
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.For) else []
        )
        if value is not None and node.lineno < before and any(_is_name(target, name) for target in targets):
            found = Binding(node, value, place_at(file, node.lineno), is_loop)
    return found


def _own_statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """Statements of a function or file in their order, without those of functions and classes inside it."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            yield from _own_statements(child)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
