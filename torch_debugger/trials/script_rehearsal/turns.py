"""Loops of the user's that end after a few turns: what a thousand show of devices, the first ones do.

A loop of few operations, or one in a model's forward, goes to its end: what follows needs all its results.
"""

from __future__ import annotations

import ast
import copy
import functools
import gc
from collections.abc import Iterable, Iterator
from itertools import repeat
from types import CodeType, FunctionType
from typing import Any

from torch_debugger.anatomy.sources import is_user_file, tree_of

FEW_TURNS = "_rehearsal_few_turns"  # the name by which such loops find what counts their turns
_FEWEST = 3
_OPERATIONS = 100  # of one loop


class Turns:
    """Of all loops: each ends when it has had a few turns and they took many operations."""

    def __init__(self) -> None:
        self.operations = 0  # that any loop's turns have taken so far

    def of(self, items: Iterable[Any] = repeat(None)) -> _Loop:
        return _Loop(self, items)


class _Loop:
    def __init__(self, turns: Turns, items: Iterable[Any]) -> None:
        self._turns, self._items = turns, items
        self._begun, self._number = turns.operations, 0

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            if not self.goes_on():
                return
            yield item

    def goes_on(self) -> bool:
        self._number += 1
        return self._number <= _FEWEST or self._turns.operations - self._begun <= _OPERATIONS


class _Shorter(ast.NodeTransformer):
    def __init__(self) -> None:
        self._whiles = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if node.name != "forward":
            self.generic_visit(node)
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = _counted(node.iter, f"{FEW_TURNS}(_items)", _items=node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = _counted(node.iter, f"{FEW_TURNS}(_items)", _items=node.iter)
        return node

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        self.generic_visit(node)
        self._whiles += 1
        name = f"{FEW_TURNS}_{self._whiles}"
        begin = ast.Assign([ast.Name(name, ast.Store())], _counted(node.test, f"{FEW_TURNS}()"))
        node.test = _counted(node.test, f"_test and {name}.goes_on()", _test=node.test)
        return [ast.fix_missing_locations(ast.copy_location(begin, node)), node]


def _counted(at: ast.expr, text: str, **parts: ast.expr) -> ast.expr:
    """An expression with these parts in the place of their names, and with the lines of the user's own."""
    made = ast.parse(text, mode="eval").body
    for node in ast.walk(made):
        ast.copy_location(node, at)
    return _Parts(parts).visit(made)  # type: ignore[no-any-return]


class _Parts(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]) -> None:
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._parts.get(node.id, node)


def shorter(statements: list[ast.stmt]) -> list[ast.stmt]:
    return _Shorter().visit(ast.Module(statements, [])).body  # type: ignore[no-any-return]


def shorten_functions() -> None:
    """All of the user's, for good: in a fork."""
    for function in gc.get_objects():
        if type(function) is FunctionType and is_user_file(function.__code__.co_filename):
            code = function.__code__
            found = _shorter_codes(code.co_filename).get(_key(code), [])
            if len(found) == 1 and found[0].co_freevars == code.co_freevars:
                function.__code__ = found[0]


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


@functools.cache
def _shorter_codes(file: str) -> dict[tuple[str, int], list[CodeType]]:
    tree = tree_of(file)
    if tree is None:
        return {}
    made = _Shorter().visit(copy.deepcopy(tree))
    found: dict[tuple[str, int], list[CodeType]] = {}
    for code in _codes(compile(made, file, "exec", dont_inherit=True)):
        found.setdefault(_key(code), []).append(code)
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)
