"""A module's running state: an attribute that a method makes anew from its last value and forward reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch_debugger.anatomy.sources import class_source, place_at
from torch_debugger.records import Place

_IN_PLACE = frozenset(
    {"mul_", "add_", "sub_", "div_", "lerp_", "copy_", "addcmul_", "index_copy_", "scatter_add_"}
)


def running_update(cls: type, attribute: str) -> Place:
    """The line that updates it; an empty place where it is no running state, or not surely one."""
    source = class_source(cls)
    if source is None:
        return Place()
    updates: list[ast.stmt] = []
    for method in _methods(source[1]):
        for statement in _statements(method):
            if _updates(statement, attribute):
                updates.append(statement)
            elif _fills(statement, attribute):
                return Place()  # reset from outside: the state of one sequence, or of one pass
    if not updates or any(_calls_a_layer(update) for update in updates):
        return Place()
    reads = [
        node for node in _reads(source[1], attribute) if not any(_holds(update, node) for update in updates)
    ]
    return place_at(source[0], min(update.lineno for update in updates)) if reads else Place()


def is_filled_later(cls: type, attribute: str) -> bool:
    """Whether a method other than __init__ fills it: then it holds a result of the last pass."""
    sources = [source for each in cls.__mro__ if (source := class_source(each)) is not None]
    methods = [method for _, statement in sources for method in _methods(statement)]
    return any(_fills(statement, attribute) for method in methods for statement in _statements(method))


def _methods(statement: ast.ClassDef) -> list[ast.FunctionDef]:
    found = [node for node in statement.body if isinstance(node, ast.FunctionDef)]
    return [method for method in found if method.name != "__init__"]


def _statements(method: ast.FunctionDef) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(method) if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr))


def _updates(statement: ast.stmt, attribute: str) -> bool:
    match statement:
        case ast.AugAssign(target=target):
            return _is_own(_base(target), attribute)
        case ast.Assign(targets=[ast.Subscript() as target]):
            return _is_own(_base(target), attribute)
        case ast.Assign(targets=[target], value=value) if _is_own(target, attribute):
            return any(_is_own(part, attribute) for part in ast.walk(value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr=method))):
            return method in _IN_PLACE and _is_own(_base(target), attribute)
    return False


def _fills(statement: ast.stmt, attribute: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    return any(_is_own(target, attribute) for target in targets)


def _base(target: ast.expr) -> ast.expr:
    """self.state of self.state[rows], of self.state.data, and of self.state.mul_(0.9)"""
    while isinstance(target, ast.Subscript) or (isinstance(target, ast.Attribute) and target.attr == "data"):
        target = target.value
    if (
        isinstance(target, ast.Call)
        and isinstance(target.func, ast.Attribute)
        and target.func.attr in _IN_PLACE
    ):
        return _base(target.func.value)
    return target


def _is_own(node: ast.AST, attribute: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name == attribute
    return False


def _calls_a_layer(statement: ast.stmt) -> bool:
    """self.cell(x, self.state): the hidden state of a recurrent layer, which belongs to its sequence."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return any(isinstance(call.func, ast.Attribute) and _is_self(call.func.value) for call in calls)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _reads(statement: ast.ClassDef, attribute: str) -> list[ast.AST]:
    forward = [method for method in _methods(statement) if method.name == "forward"]
    nodes = [node for method in forward for node in ast.walk(method)]
    return [
        node for node in nodes if _is_own(node, attribute) and isinstance(getattr(node, "ctx", None), ast.Load)
    ]


def _holds(statement: ast.stmt, node: ast.AST) -> bool:
    return any(part is node for part in ast.walk(statement))
