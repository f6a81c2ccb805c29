"""Where a size that a constructor takes by name is written as a number: HIDDEN = 32, "hidden": 32."""

from __future__ import annotations

import ast
import functools
import linecache
import re
from collections.abc import Iterator

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.records import WrittenNumber


def written_numbers(file: str, code: str) -> tuple[WrittenNumber, ...]:
    """For the names in a line of code, the one place of its file that gives each its number."""
    tree = tree_of(file)
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", code)) if tree is not None else {}
    found = (_number(file, tree, name) for name in names if tree is not None)
    return tuple(number for number in found if number is not None)


def _number(file: str, tree: ast.Module, name: str) -> WrittenNumber | None:
    given = _given(tree).get(name, [])
    if len(given) != 1:
        return None  # never, or in several places: no one of them can be blamed
    first, value = given[0]
    place, source = place_at(file, value.lineno), ast.unparse(value)
    text = _text(file, first, value)
    if text is None or not text.endswith(source) or not isinstance(value.value, int):
        return None
    return WrittenNumber(name, value.value, place, text, _uses(tree).get(name, 0))


def _text(file: str, first: ast.AST, value: ast.Constant) -> str | None:
    """From the name to the number, where both stand in one line."""
    line, start = getattr(first, "lineno", 0), getattr(first, "col_offset", 0)
    written = place_at(file, value.lineno).code
    if line != value.lineno or written is None or not written.isascii():
        return None
    return linecache.getline(file, line)[start : value.end_col_offset]


@functools.lru_cache(maxsize=16)
def _given(tree: ast.Module) -> dict[str, list[tuple[ast.AST, ast.Constant]]]:
    """name -> where something of that name is given a value, and the value where it is a plain number."""
    found: dict[str, list[tuple[ast.AST, ast.Constant]]] = {}
    for node in nodes_of(tree):
        for name, first, value in _assignments(node):
            found.setdefault(name, []).append((first, value if isinstance(value, ast.Constant) else _UNKNOWN))
    return found


_UNKNOWN = ast.Constant(value=None, lineno=0, col_offset=0, end_lineno=0, end_col_offset=0)


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        yield from ((part.id, part, node.value) for part in node.targets if isinstance(part, ast.Name))
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.target, node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, key, value
    elif isinstance(node, ast.arguments):
        named = [*node.posonlyargs, *node.args]
        defaults = node.defaults
        yield from (
            (arg.arg, arg, value)
            for arg, value in zip(named[len(named) - len(defaults) :], defaults, strict=True)
        )


@functools.lru_cache(maxsize=16)
def _uses(tree: ast.Module) -> dict[str, int]:
    """How often a file reads each name, attribute or key."""
    counts: dict[str, int] = {}
    for node in nodes_of(tree):
        read = _read(node)
        counts[read] = counts.get(read, 0) + 1
    return counts


def _read(node: ast.AST) -> str:
    if isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return ""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    key = node.slice if isinstance(node, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
