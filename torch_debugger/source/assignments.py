"""The statement that gives a variable its value, in the user's source."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.records import Place
from torch_debugger.source.files import place_at, tree_of, user_files
from torch_debugger.source.syntax import (
    FunctionNode,
    flat_targets,
    functions_around,
    nodes_in,
    own_statements,
    parameters,
)


@dataclass(frozen=True)
class Assignment:
    place: Place  # the whole statement; of a loop its first line
    function: str  # that it stands in; empty at the top of the file


def assignment_of(file: str, line: int, name: str) -> Assignment | None:
    """The last statement above a line that assigns a name; else the last below it, where a loop comes round."""
    tree = tree_of(file)
    for scope in (*functions_around(tree, line), tree) if tree else ():
        found = [node for node in own_statements(scope) if name in _assigned(node)]
        if found:
            above = [node for node in found if node.lineno < line]
            last = max(above or found, key=lambda node: node.lineno)
            return Assignment(statement_place(file, last), getattr(scope, "name", ""))
        if isinstance(scope, FunctionNode) and name in parameters(scope):
            return None
    return None


def filling_of_argument(place: Place) -> Place | None:
    """The statement that fills the variable which a call at this place is given first: params = [...]."""
    for call in nodes_in(place.file, ast.Call):
        if call.lineno == place.line and call.args:
            argument = call.args[0]
            if not isinstance(argument, ast.Name) or place.file is None:
                return None
            found = assignment_of(place.file, call.lineno, argument.id)
            return found.place if found is not None else None
    return None


def is_known_before(file: str, line: int, name: str) -> bool:
    """Whether a name has a value when a line runs: a parameter, or something assigned above."""
    tree = tree_of(file)
    for depth, scope in enumerate((*functions_around(tree, line), tree) if tree else ()):
        if isinstance(scope, FunctionNode) and name in parameters(scope):
            return True
        lines = [node.lineno for node in own_statements(scope) if name in _assigned(node)]
        if lines:
            return min(lines) < line or depth > 0
    return False


def statement_place(file: str, node: ast.stmt) -> Place:
    last = node.lineno if hasattr(node, "body") else node.end_lineno
    lines = linecache.getlines(file)[node.lineno - 1 : last]
    return Place(file, node.lineno, None, "\n".join(text.strip() for text in lines))


def _assigned(node: ast.stmt) -> set[str]:
    targets = [] if isinstance(node, ast.AugAssign) else flat_targets(node)
    return {ast.unparse(target) for target in targets}


# The statement that adds to a variable: to a list, to an entry, to a sum.
_FILLERS = ("append", "extend", "appendleft", "add")


def addition_to(file: str, name: str) -> tuple[Place, str]:
    """The first statement that adds to `losses`, `self.losses`, `log['loss']`, and what it adds: in this file,
    else in another one of the user's.

    A name that the file gives to an object elsewhere (`tracker.losses` for self.losses) counts where nothing
    goes by the full name.
    """
    return _addition(file, name) or next(filter(None, (_addition(each, name) for each in user_files())), (Place(), ""))


@functools.lru_cache(maxsize=256)
def _addition(file: str, name: str) -> tuple[Place, str] | None:
    last = name.rpartition(".")[2]
    for names in ((name,), (f"self.{last}", f"cls.{last}") if "." in name else ()):
        for node in nodes_in(file, ast.stmt):
            added = _added(node)
            if added is not None and added[0] in names:
                return statement_place(file, node), ast.unparse(added[1])
    return _addition_to_entry(file, name) if name.endswith("]") else None


def _addition_to_entry(file: str, name: str) -> tuple[Place, str] | None:
    """`meters.total['loss']` where the source says self.total[key]: what is added under other keys may be no
    tensor, so that it is left out."""
    whole = name[: name.rindex("[")]
    last = whole.rpartition(".")[2]
    owners = {whole, f"self.{last}", f"cls.{last}"}
    for node in nodes_in(file, ast.stmt):
        added = _added(node)
        if added is not None and added[0].split("[")[0] in owners and not _is_a_start(added[1]):
            return statement_place(file, node), ""
    return None


def _is_a_start(value: ast.expr) -> bool:
    """self.records[name] = []"""
    return isinstance(value, ast.Constant) or not any(isinstance(part, ast.Name) for part in ast.walk(value))


@functools.lru_cache(maxsize=256)
def carried_over(file: str, name: str) -> Place | None:
    """The first statement that makes a variable of its own last value: `h = cell(x, h)`."""
    for node in nodes_in(file, ast.stmt):
        if isinstance(node, ast.Assign) and name in _assigned(node) and _mentions(node.value, name):
            return statement_place(file, node)
    return None


def _mentions(value: ast.expr, name: str) -> bool:
    """As it is: not `h.detach()`, and not a test of it (`x if h is None else ...`)."""
    if isinstance(value, ast.IfExp):
        return _mentions(value.body, name) or _mentions(value.orelse, name)
    return any(
        isinstance(part, (ast.Name, ast.Attribute)) and ast.unparse(part) == name for part in _plain_parts(value)
    )


def _plain_parts(value: ast.AST) -> Iterator[ast.AST]:
    yield value
    if isinstance(value, ast.Attribute):
        return
    for child in ast.iter_child_nodes(value):
        yield from _plain_parts(child)


def _added(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """(the variable, what is added to it)"""
    match node:
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            return ast.unparse(target), value
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=called), args=[value, *_])):
            return (ast.unparse(owner), value) if called in _FILLERS else None
        case ast.Assign(targets=[ast.Subscript(value=owner)], value=value):
            return ast.unparse(owner), value
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            name = ast.unparse(target)
            parts = {ast.unparse(left): right, ast.unparse(right): left}
            return (name, parts[name]) if name in parts else None
    return None


# [row] * n in the user's source: one object under n names, which all change together.
def repeated_row(file: str | None) -> Place:
    """The one such line of a file where the row is made by a call; none where there are several."""
    lines = set()
    for node in nodes_in(file, ast.BinOp):
        match node:
            case ast.BinOp(left=ast.List(elts=[ast.Call()]), op=ast.Mult()):
                lines.add(node.lineno)
    return place_at(file, lines.pop()) if file and len(lines) == 1 else Place()
