"""The user's own file, where it is on this machine and still says what the traceback says."""

from __future__ import annotations

import ast
import functools
import os
import stat

_LARGEST_FILE_BYTES = 4_000_000


def statement_around(file: str, line: int, code: str) -> tuple[int, str]:
    """The whole statement and its first line; what the traceback tells where the file says otherwise."""
    source = _source(file)
    lines, told = source.split("\n"), code.split("\n")[0].split()
    if not told or not 1 <= line <= len(lines) or lines[line - 1].split() != told:
        return line, code
    for node in ast.walk(_tree(source)):
        spans = isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
        if spans and isinstance(node, ast.stmt) and not hasattr(node, "body"):
            whole = lines[node.lineno - 1 : node.end_lineno]
            return node.lineno, "\n".join(text.strip() for text in whole)
    return line, code


def _source(file: str) -> str:
    try:
        found = os.stat(file)
        # A regular file: opening a pipe would wait for its other end.
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST_FILE_BYTES:
            return ""
        with open(file, encoding="utf-8-sig", errors="replace") as opened:
            return opened.read()
    except (OSError, ValueError):  # ValueError: a null character in the path
        return ""


@functools.lru_cache(maxsize=32)
def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
