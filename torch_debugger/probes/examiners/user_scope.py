"""A function of the user's as source and as living frame: its statements, and what its names stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import covers, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.probes.crash_frames import Seen, attribute
from torch_debugger.probes.crash_operands import UnknownValueError, value_of
from torch_debugger.probes.crash_source import statement_at
from torch_debugger.records import Place

LOOPS = (ast.For, ast.While, ast.AsyncFor)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Scope:
    """The innermost function around a frame's line, or the whole file at its top level."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.file, self.line = seen.file, seen.line
        tree = tree_of(seen.file)
        self.function: ast.AST = function_around(tree, seen.line) if tree is not None else ast.Module([], [])

    @staticmethod
    def of_tree(tree: ast.Module) -> list[ast.stmt]:
        """The statements of a file outside of its functions, those included that begin a function or class."""
        return sorted(
            [*_own_statements(tree), *(n for n in tree.body if is_a(n, _NESTED))], key=lambda n: n.lineno
        )

    def statements(self) -> list[ast.stmt]:
        """All of them in the order of their lines; those of functions defined inside are not its own."""
        return sorted(_own_statements(self.function), key=lambda node: node.lineno)

    def loops(self) -> Sequence[ast.stmt]:
        """The loops around the frame's line, the innermost first."""
        around = [node for node in self.statements() if isinstance(node, LOOPS) and covers(node, self.line)]
        return around[::-1]

    def assignments(self, name: str) -> list[ast.stmt]:
        return [node for node in self.statements() if name in assigned(node)]

    def assignment_before(self, name: str, line: int) -> ast.stmt | None:
        """The last one that starts above a line; in a loop, one below it may be the one that ran last."""
        found = self.assignments(name)
        above = [node for node in found if node.lineno < line]
        return above[-1] if above else found[-1] if found else None

    def held(self, node: ast.expr) -> Any:
        """The very object a name, an attribute or an entry stands for now; None where that is not known."""
        if isinstance(node, ast.Name):
            return self.named(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.held(node.value)
            return attribute(owner, node.attr) if owner is not None else None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return _entry(self.held(node.value), node.slice.value)
        return None

    def value(self, node: ast.expr) -> Any:
        """As `held`, and what plain methods make of it, without a graph: batch[0].float()"""
        try:
            return value_of(node, self.seen.frame)
        except UnknownValueError:
            return None

    def named(self, name: str) -> Any:
        return self.seen.frame.f_locals.get(name, self.seen.frame.f_globals.get(name))

    def place_of(self, node: ast.AST | None) -> Place:
        return self.place(node) if node is not None else Place()

    def place(self, node: ast.AST, module: str | None = None) -> Place:
        return statement_place(self.file, getattr(node, "lineno", self.line), module)


def _entry(owner: Any, key: Any) -> Any:
    if is_one_of(owner, (list, tuple)) and type(key) is int:
        return owner[key] if -len(owner) <= key < len(owner) else None
    if issubclass(type(owner), nn.Module):  # a Sequential's children
        return attribute(owner, str(key))
    return owner.get(key) if type(owner) is dict and is_one_of(key, (str, int)) else None


def statement_place(file: str, line: int, module: str | None = None) -> Place:
    """A line, with the code of the whole statement it belongs to."""
    start, code = statement_at(file, line)
    return Place(file, start, module, code or None)


def _own_statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if is_a(child, _NESTED):
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from _own_statements(child)


def assigned(node: ast.stmt) -> list[str]:
    """The plain names and dotted attributes a statement binds."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.For) or (
        isinstance(node, ast.AnnAssign) and node.value is not None
    ):
        targets = [node.target]
    else:
        return []
    parts = [part for target in targets for part in _flat(target)]
    return [ast.unparse(part) for part in parts if isinstance(part, ast.Name | ast.Attribute)]


def _flat(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [part for item in target.elts for part in _flat(item)]
    return [target.value] if isinstance(target, ast.Starred) else [target]


def names_read(node: ast.AST) -> list[str]:
    """The names an expression or statement reads, in order."""
    found = [part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
    return [part.id for part in sorted(found, key=lambda part: (part.lineno, part.col_offset))]


def calls_in(node: ast.AST) -> list[ast.Call]:
    """In the order in which they stand."""
    found = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return sorted(found, key=lambda part: (part.lineno, part.col_offset))
