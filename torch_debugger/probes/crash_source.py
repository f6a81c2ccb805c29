"""The user's source around a crash: the statement, the expression that raised, how a layer is built."""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Iterator, Mapping
from types import CodeType

from torch_debugger.anatomy.running_expressions import running_expression
from torch_debugger.anatomy.sources import is_user_file, place_at, tree_of
from torch_debugger.probes.written_numbers import written_numbers
from torch_debugger.records import Construction, Place

_CODE_LENGTH, _SCOPE_LENGTH = 1200, 6000


def statement_at(file: str, line: int) -> tuple[int, str]:
    """The user's whole statement a line belongs to, and its first line: a check can read its expression."""
    tree = tree_of(file) if is_user_file(file) else None  # torch's own files are long: their line will do
    for node in ast.walk(tree) if tree else ():
        spans = isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
        if spans and isinstance(node, ast.stmt) and not hasattr(node, "body"):
            return node.lineno, _lines(file, node.lineno, node.end_lineno)[:_CODE_LENGTH]
    return line, linecache.getline(file, line).strip()[:_CODE_LENGTH]


def failing_expression(code: CodeType, instruction: int) -> str:
    """The very expression that raised, as ast.unparse writes it; empty where Python cannot tell."""
    node = running_expression(code, instruction)
    return ast.unparse(node) if node is not None else ""


def constructions_of(path: str, kind: str, places: Mapping[str, Place]) -> Iterator[Construction]:
    """How a layer, called `kind`, and then the modules around it are built."""
    while path:
        place = places.get(path)
        tree = tree_of(place.file) if place is not None and place.file else None
        if tree is not None and place is not None and place.file and place.line:
            maker, scope = _maker(tree, place.line)
            code = _call_lines(tree, place.file, place.line, kind)
            text = _source(place.file, scope) if scope is not None else ""
            numbers = written_numbers(place.file, code)
            yield Construction(Place(place.file, place.line, path, code), maker, text, numbers)
        path, kind = path.rpartition(".")[0], ""


def _source(file: str, function: ast.FunctionDef) -> str:
    lines = linecache.getlines(file)[function.lineno - 1 : function.end_lineno]
    text = textwrap.dedent("".join(lines))
    return text if len(text) <= _SCOPE_LENGTH else ""


def _maker(tree: ast.Module, line: int) -> tuple[str, ast.FunctionDef | None]:
    """The innermost function around a line, under the name that calls it: a class's for its __init__."""
    found: tuple[str, ast.FunctionDef | None] = "", None
    for outer in ast.walk(tree):
        for node in ast.iter_child_nodes(outer):
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
                name = outer.name if isinstance(outer, ast.ClassDef) and node.name == "__init__" else node.name
                if found[1] is None or node.lineno >= found[1].lineno:
                    found = name, node
    return found


def _call_lines(tree: ast.Module, file: str, line: int, kind: str) -> str:
    """A line, and as many after it as the calls of `kind` (or else all calls) that start on it take."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.lineno == line]
    named = [node for node in calls if kind and ast.unparse(node.func).rpartition(".")[2] == kind]
    last = max((node.end_lineno or line for node in named or calls), default=line)
    return _lines(file, line, last) if last > line else place_at(file, line).code or ""


def _lines(file: str, first: int, last: int | None) -> str:
    return "\n".join(text.strip() for text in linecache.getlines(file)[first - 1 : last]).strip()
