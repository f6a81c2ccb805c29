"""What stands around a line of a script, inside its function: loops, and the condition it runs under."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass

from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place


@dataclass(frozen=True)
class Surroundings:
    loops: tuple[Place, ...] = ()  # the innermost first
    condition: int = 0  # the line of the innermost one; 0 where there is none


@functools.lru_cache(maxsize=4096)
def surroundings_of(file: str, line: int) -> Surroundings:
    """Looked up once: a script does not change while it runs."""
    tree = tree_of(file)
    if tree is None:
        return Surroundings()
    loops: list[int] = []
    conditions: list[int] = []
    block: list[ast.stmt] = getattr(function_around(tree, line), "body", [])
    while block:
        block = _go_in(block, line, loops, conditions)
    return Surroundings(
        tuple(place_at(file, loop) for loop in reversed(loops)), conditions[-1] if conditions else 0
    )


def in_same_pass(one: Place, later: Place) -> bool:
    """Of two lines of one function: does the first always run before the other, in the same pass of a loop?"""
    tree = tree_of(one.file) if one.file and one.file == later.file else None
    if tree is None or not one.file or not one.line or not later.line or one.line >= later.line:
        return False
    if function_around(tree, one.line) is not function_around(tree, later.line):
        return False
    return surroundings_of(one.file, one.line) == surroundings_of(one.file, later.line)


def innermost_loop(place: Place) -> Place:
    found = surroundings_of(place.file, place.line).loops if place.file and place.line else ()
    return found[0] if found else Place()


def _go_in(block: list[ast.stmt], line: int, loops: list[int], conditions: list[int]) -> list[ast.stmt]:
    """The block inside of this one that holds the line; what is passed on the way is noted."""
    index = next((i for i, each in enumerate(block) if each.lineno <= line <= (each.end_lineno or 0)), None)
    if index is None:
        return []
    conditions += [each.lineno for each in block[:index] if _sends_away(each)]
    around = block[index]
    for part, inner in _blocks(around):
        if not inner or not inner[0].lineno <= line <= (inner[-1].end_lineno or 0):
            continue
        if isinstance(around, (ast.For, ast.AsyncFor, ast.While)) and part == "body":
            loops.append(around.lineno)
        elif part in ("handlers", "cases") or (isinstance(around, ast.If) and not _always_holds(around.test)):
            conditions.append(around.lineno)
        return inner
    return []


def _blocks(statement: ast.stmt) -> list[tuple[str, list[ast.stmt]]]:
    plain = [(part, getattr(statement, part, [])) for part in ("body", "orelse", "finalbody")]
    parts = [("handlers", each.body) for each in getattr(statement, "handlers", [])]
    return plain + parts + [("cases", each.body) for each in getattr(statement, "cases", [])]


def _sends_away(statement: ast.stmt) -> bool:
    """`if step % 50: continue`: what comes behind it does not always run."""
    if not isinstance(statement, ast.If) or _always_holds(statement.test):
        return False
    return any(isinstance(node, (ast.Continue, ast.Return)) for node in ast.walk(statement))


def _always_holds(test: ast.expr) -> bool:
    """In the course of one run: `if writer is not None`, `if rank == 0`, `if __name__ == "__main__"`."""
    match test:
        case ast.Constant():
            return True
        case ast.Compare(ops=[ast.IsNot() | ast.Is()], comparators=[ast.Constant(value=None)]):
            return True
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=0 | "__main__")]):
            return ast.unparse(left).endswith(("rank", "__name__"))
    return False
