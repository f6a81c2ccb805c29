"""The statements that a frame has ahead of it: its loop once more, in one turn, then what follows the loop.

Other loops have a few turns. Each statement stands in a `try` of its own: what cannot be made without values is
passed over.
"""

from __future__ import annotations

import ast
import copy
import functools
import gc
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from types import CodeType, FunctionType
from typing import Any

from torch_debugger.source.device_placement import name_of
from torch_debugger.source.files import covers, is_user_file, tree_of
from torch_debugger.source.statements import function_around
from torch_debugger.source.variables import VariablesAt
from torch_debugger.trials.step_lines import StepStatements, lines_around

PASSED_OVER = "_rehearsal_passed_over"  # what a failing statement is handed to
ONE_TURN = "_rehearsal_one_turn"  # what a training loop's iterator goes through
RETURNED = "_rehearsal_returned"  # what the frame inside gave back when it was rehearsed

_UNTOUCHED = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal,
    ast.Break, ast.Continue, ast.Pass,
)  # fmt: skip


def is_in_loop(moment: VariablesAt) -> bool:
    return any(lines.in_loop for lines in lines_around(moment))


def lines_ahead(moment: VariablesAt, inner: str = "", *, whole_turn: bool = False) -> StepStatements | None:
    """inner: the function that the statement at the moment's line calls, which has been rehearsed: the
    statement goes on with what it gave back. Without one, or with `whole_turn`, the whole loop around the line
    has one more turn."""
    tree = tree_of(moment.file)
    scope = function_around(tree, moment.line) if tree is not None else None
    if scope is None or isinstance(scope, ast.Module) != (moment.function == "<module>"):
        return None
    found = _after(scope.body, moment.line, inner, whole_turn or not inner)  # type: ignore[attr-defined]
    statements = shorter(copy.deepcopy(found))
    return StepStatements(moment, [_guarded(each) for each in statements], in_loop=False) if statements else None


def _after(body: Sequence[ast.stmt], line: int, inner: str, whole_turn: bool) -> list[ast.stmt]:
    at = next((number for number, each in enumerate(body) if covers(each, line)), None)
    return [] if at is None else [*_begun(body[at], line, inner, whole_turn), *body[at + 1 :]]


def _begun(statement: ast.stmt, line: int, inner: str, whole_turn: bool) -> list[ast.stmt]:
    """What is left of the statement at the line: of a loop the rest of a turn, a whole one, or both."""
    if isinstance(statement, (ast.For, ast.While)) and any(covers(each, line) for each in statement.body):
        rest = _after(statement.body, line, inner, whole_turn=False) if inner else []
        turns = [_in_one_turn(statement, rest)] if rest else []
        return [*turns, _one_turn(statement, line)] if whole_turn else turns
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, [])
        if not isinstance(statement, _UNTOUCHED) and any(covers(each, line) for each in block):
            rest = _after(block, line, inner, whole_turn)
            return [_with_body(statement, rest)] if isinstance(statement, ast.With) and rest else rest
    returned = _Returned(inner)
    made = returned.visit(copy.deepcopy(statement)) if inner else copy.deepcopy(statement)
    return [made] if returned.found or not inner else []


class _Returned(ast.NodeTransformer):
    """The call of a function exchanged for what it has given back."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.found = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if name_of(node.func) == self.function:
            self.found = True
            return ast.copy_location(ast.Name(RETURNED, ast.Load()), node)
        return self.generic_visit(node)


def _one_turn(loop: ast.For | ast.While, line: int) -> ast.stmt:
    """The loop and those inside of it that lead to the line, each with one turn."""
    made = copy.deepcopy(loop)
    made.body = [
        _one_turn(each, line) if isinstance(each, (ast.For, ast.While)) and covers(each, line) else each
        for each in made.body
    ]
    if isinstance(made, ast.For):
        made.iter = _counted(made.iter, f"{ONE_TURN}(_items)", _items=made.iter)
        return made
    return _in_one_turn(loop, made.body)


def _in_one_turn(loop: ast.stmt, body: list[ast.stmt]) -> ast.stmt:
    return _with_body(ast.copy_location(ast.parse("for _turn in (0,):\n    pass").body[0], loop), body)


def _with_body(statement: ast.stmt, body: list[ast.stmt]) -> ast.stmt:
    made = copy.copy(statement)
    made.body = body  # type: ignore[attr-defined]
    return made


def _guarded(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, _UNTOUCHED):
        return statement
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            setattr(statement, name, [_guarded(each) for each in block])
    guard = ast.parse(f"try:\n    pass\nexcept Exception as _error:\n    {PASSED_OVER}(_error)").body[0]
    for node in ast.walk(guard):
        ast.copy_location(node, statement)
    guard.body = [statement]  # type: ignore[attr-defined]
    return guard


# Loops of the user's that end after a few turns: what a thousand show of devices, the first ones do.
#
# A loop of few operations, or one in a model's forward, goes to its end: what follows needs all its results.
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
    for code in codes_of(compile(made, file, "exec", dont_inherit=True)):
        found.setdefault(_key(code), []).append(code)
    return found


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Of a module or a function, and of those inside of it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_of(each)
