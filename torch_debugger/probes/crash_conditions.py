"""The condition on which the user's own line raised: an assert's, or that of the `if` around a `raise`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from torch_debugger.anatomy.sources import covers, tree_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.crash_operands import UnknownValueError, value_of

_LOOKED_AT = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)


@dataclass(frozen=True)
class Condition:
    test: ast.expr
    asserted: bool  # of an assert; else of the `if` around a raise
    values: tuple[tuple[str, Any], ...]  # its parts whose value is known, as ast.unparse writes them


def condition_at(seen: Seen) -> Condition | None:
    """None where the frame's line is neither an assert nor a raise below an if."""
    tree = tree_of(seen.file)
    if tree is None:
        return None
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and covers(node, seen.line)]
    line = max(around, key=lambda node: (node.lineno, node.col_offset), default=None)
    if isinstance(line, ast.Assert):
        return Condition(line.test, True, _values(line.test, seen))
    test = next((node.test for node in around if isinstance(node, ast.If) and line in node.body), None)
    return Condition(test, False, _values(test, seen)) if isinstance(line, ast.Raise) and test else None


def _values(test: ast.expr, seen: Seen) -> tuple[tuple[str, Any], ...]:
    found: dict[str, Any] = {}
    for node in ast.walk(test):
        if isinstance(node, _LOOKED_AT):
            try:
                found.setdefault(ast.unparse(node), value_of(node, seen.frame))
            except UnknownValueError:
                continue
    return tuple(found.items())
