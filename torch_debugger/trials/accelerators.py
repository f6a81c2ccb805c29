"""Whether a script itself chooses or names an accelerator: read from its source, without running it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence

_NAMES = frozenset({"cuda", "mps", "xpu", "accelerator", "is_cuda", "current_accelerator"})
_DEVICE_TEXT = re.compile(r"(cuda|mps|xpu|hpu|npu|gpu)(:\d+)?")
_MOST_FILES = 30
_LARGEST_FILE_BYTES = 1_000_000


def names_accelerator(script_path: str, argv: Sequence[str], cwd: str) -> bool:
    """Whether the script, a module it imports from its own folder, or its command line does so."""
    if any(_DEVICE_TEXT.fullmatch(part) for word in argv for part in word.lower().split("=")):
        return True
    return any(_chooses(tree) for tree in _trees(os.path.join(cwd, script_path)))


def _trees(script: str) -> Iterator[ast.Module]:
    """The script's syntax tree, then those of its own modules, each once."""
    folder = os.path.dirname(script)
    waiting, seen = [script], {script}
    while waiting and len(seen) <= _MOST_FILES:
        tree = _parse(waiting.pop(0))
        if tree is None:
            continue
        yield tree
        found = [path for name in _imported(tree) for path in _files_of(folder, name) if path not in seen]
        waiting += found
        seen.update(found)


def _parse(path: str) -> ast.Module | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_FILE_BYTES:
            return None
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)


def _files_of(folder: str, module: str) -> Iterator[str]:
    stem = os.path.join(folder, *module.split("."))
    for path in (stem + ".py", os.path.join(stem, "__init__.py")):
        if module and os.path.isfile(path):
            yield path


def _chooses(tree: ast.Module) -> bool:
    plain_text = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    return any(is_choice(node) for node in ast.walk(tree) if id(node) not in plain_text)


def is_choice(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in _NAMES
        case ast.Constant(value=str(text)):
            return _DEVICE_TEXT.fullmatch(text) is not None
    return False
