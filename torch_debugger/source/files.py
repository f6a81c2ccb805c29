"""The user's source text: which files are theirs, and their syntax trees, parsed once."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import os
import sys
from collections.abc import Iterable
from types import FunctionType
from typing import TYPE_CHECKING

from torch_debugger.records import Place
from torch_debugger.source.objects import class_dict, is_one_of, module_of_class, name_of_class

if TYPE_CHECKING:
    from torch import nn

# Source made by a machine and put into linecache: torch.fx graphs, attrs, the import system.
_GENERATED = ("<frozen ", "<eval_with_key>", "<attrs generated", "<torch_package")


def is_user_file(path: str) -> bool:
    """Whether a frame of this file is the user's own code."""
    if path.startswith("<"):
        return not path.startswith(_GENERATED) and bool(linecache.getlines(path))
    return _is_user_path(path)


@functools.lru_cache(maxsize=4096)
def _is_user_path(path: str) -> bool:
    full = os.path.abspath(path)
    if full.startswith(os.path.join(package_folder(), "demo", "versions")):
        return True  # the demo's scripts ship with us, but play the user's part
    installed = f"{os.sep}site-packages{os.sep}" in full or f"{os.sep}dist-packages{os.sep}" in full
    generated = f"{os.sep}torchinductor_" in full  # what torch.compile writes among the temporary files
    return not installed and not generated and not full.startswith(_foreign_folders())


def user_files() -> tuple[str, ...]:
    """Of the modules that are imported, the script among them."""
    return _user_files(len(sys.modules))


@functools.lru_cache(maxsize=1)
def _user_files(modules: int, most: int = 64) -> tuple[str, ...]:
    """Looked for again when there are more or fewer modules: it takes a millisecond or two."""
    named = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    files = (file for file in named if isinstance(file, str) and is_user_file(file))
    return tuple(itertools.islice(files, most))


@functools.cache
def package_folder() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@functools.cache
def _foreign_folders() -> tuple[str, ...]:
    import torch  # not before: a trace in a file is read without it

    folders = {os.path.dirname(torch.__file__), os.path.dirname(os.__file__)}
    return (package_folder(), *(os.path.abspath(folder) + os.sep for folder in folders))


def line_at(file: str, line: int) -> str:
    """One line of a file, stripped; empty where the source is gone."""
    return linecache.getline(file, line).strip()


def place_at(file: str, line: int, module: str | None = None) -> Place:
    return Place(file, line, module, line_at(file, line) or None)


def covers(node: ast.AST, line: int) -> bool:
    first: int = getattr(node, "lineno", 0)
    return first <= line <= (getattr(node, "end_lineno", None) or first)


_trees: dict[str, tuple[list[str], ast.Module | None]] = {}  # with the lines they were made of


def tree_of(file: str | None) -> ast.Module | None:
    """The syntax tree of a file, or None where there is no source that parses."""
    if not file:
        return None
    lines, known = linecache.getlines(file), _trees.get(file)
    if known is None or known[0] is not lines:  # linecache gives the same list until it reads the file again
        known = _trees[file] = (lines, parsed("".join(lines)))
    return known[1]


@functools.lru_cache(maxsize=256)
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a file, walked once: that takes a tenth of a second for a few thousand lines."""
    return tuple(ast.walk(tree))


def user_trees() -> list[ast.Module]:
    return [tree for file in user_files() if (tree := tree_of(file)) is not None]


def parsed(source: str | None) -> ast.Module | None:
    """None for an empty text, and for one that is no Python."""
    try:
        return ast.parse(source) if source else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def class_source(cls: type) -> tuple[str, ast.ClassDef] | None:
    """The file and class statement of a user's class; None for classes of torch and of libraries."""
    if module_of_class(cls).partition(".")[0] in ("torch", "builtins"):
        return None
    name = name_of_class(cls)
    for file, line in _class_hints(cls):
        tree = tree_of(file) if is_user_file(file) else None
        matches = [node for node in _classes(tree) if node.name == name] if tree else []
        holding = [node for node in matches if line and node.lineno <= line <= (node.end_lineno or 0)]
        if holding or matches:
            return file, (holding or matches)[-1]
    return None


def class_sources(classes: Iterable[type]) -> list[tuple[str, ast.ClassDef]]:
    """Of those that are the user's."""
    return [source for cls in classes if (source := class_source(cls)) is not None]


def model_sources(modules: Iterable[nn.Module]) -> list[tuple[str, ast.ClassDef]]:
    """Of the user's classes that models are made of, each once, the models' own first."""
    return class_sources(dict.fromkeys(type(part) for module in modules for part in module.modules()))


def _class_hints(cls: type) -> list[tuple[str, int]]:
    """Files that may hold the class, with a line inside it: its functions know, even in notebooks."""
    members = class_dict(cls).values()
    functions = [item.__func__ if is_one_of(item, (staticmethod, classmethod)) else item for item in members]
    codes = [item.__code__ for item in functions if type(item) is FunctionType]
    own = [code for code in codes if is_user_file(code.co_filename)]
    hints = [(code.co_filename, code.co_firstlineno) for code in own]
    file = getattr(sys.modules.get(module_of_class(cls)), "__file__", None)
    return [*hints, (file, 0)] if isinstance(file, str) else hints


@functools.lru_cache(maxsize=256)
def _classes(tree: ast.Module) -> tuple[ast.ClassDef, ...]:
    return tuple(node for node in nodes_of(tree) if isinstance(node, ast.ClassDef))
