"""The statement that adds to a variable: to a list, to an entry, to a sum."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from torch_debugger.anatomy.assignments import statement_place
from torch_debugger.anatomy.sources import nodes_of, tree_of, user_files
from torch_debugger.records import Place

_NOTHING = Place(), ""
_FILLERS = ("append", "extend", "appendleft", "add")


def addition_to(file: str, name: str) -> tuple[Place, str]:
    """The first statement that adds to `losses`, `self.losses`, `log['loss']`, and what it adds: in this file,
    else in another one of the user's.

    A name that the file gives to an object elsewhere (`tracker.losses` for self.losses) counts where nothing
    goes by the full name.
    """
    return _addition(file, name) or next(
        filter(None, (_addition(each, name) for each in user_files())), _NOTHING
    )


@functools.lru_cache(maxsize=256)
def _addition(file: str, name: str) -> tuple[Place, str] | None:
    last = name.rpartition(".")[2]
    for names in ((name,), (f"self.{last}", f"cls.{last}") if "." in name else ()):
        for node in _statements(file):
            added = _added(node)
            if added is not None and added[0] in names:
                return statement_place(file, node), ast.unparse(added[1])
    return _addition_to_entry(file, name) if name.endswith("]") else None


def _addition_to_entry(file: str, name: str) -> tuple[Place, str] | None:
    """`meters.total['loss']` where the source says self.total[key]: what is added under other keys may be no
    tensor, so that it is not told."""
    whole = name[: name.rindex("[")]
    last = whole.rpartition(".")[2]
    owners = {whole, f"self.{last}", f"cls.{last}"}
    for node in _statements(file):
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
    for node in _statements(file):
        if isinstance(node, ast.Assign) and name in _targets(node) and _mentions(node.value, name):
            return statement_place(file, node)
    return None


def _statements(file: str) -> list[ast.stmt]:
    tree = tree_of(file)
    return [node for node in nodes_of(tree) if isinstance(node, ast.stmt)] if tree is not None else []


def _targets(node: ast.Assign) -> set[str]:
    parts = [part for target in node.targets for part in getattr(target, "elts", [target])]
    return {ast.unparse(part) for part in parts}


def _mentions(value: ast.expr, name: str) -> bool:
    """As it is: not `h.detach()`, and not a test of it (`x if h is None else ...`)."""
    if isinstance(value, ast.IfExp):
        return _mentions(value.body, name) or _mentions(value.orelse, name)
    return any(
        isinstance(part, (ast.Name, ast.Attribute)) and ast.unparse(part) == name
        for part in _plain_parts(value)
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
