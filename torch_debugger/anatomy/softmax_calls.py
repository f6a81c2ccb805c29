"""Which line of the user's takes a softmax over a given dimension."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torch import nn

from torch_debugger.anatomy.sources import class_source, nodes_of, place_at, tree_of
from torch_debugger.records import Place

_NAMES = ("softmax", "Softmax")


def softmax_call(modules: Sequence[nn.Module], file: str | None, dim: int, rank: int) -> Place | None:
    """The one call over this dimension in the models' classes, else in the file that calls backward()."""
    classes = dict.fromkeys(type(child) for module in modules for child in module.modules())
    sources = [source for cls in classes if (source := class_source(cls)) is not None]
    found = {place for name, tree in sources for place in _calls(name, tree, dim, rank)}
    tree = tree_of(file) if file else None
    if not found and file and tree is not None:
        found = set(_calls(file, tree, dim, rank))
    return found.pop() if len(found) == 1 else None


def _calls(file: str, tree: ast.AST, dim: int, rank: int) -> Iterator[Place]:
    for node in nodes_of(tree):
        called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and called in _NAMES and _dim_of(node, rank) == dim:
            yield place_at(file, node.lineno)


def _dim_of(call: ast.Call, rank: int) -> int | None:
    """As it is written: a keyword, or a number among the arguments. Without one torch has its own choice."""
    given = [word.value for word in call.keywords if word.arg in ("dim", "axis")] + call.args
    for node in given:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError):
            continue
        if type(value) is int:
            return value % rank
    return None if any(word.arg in ("dim", "axis") for word in call.keywords) else (0 if rank in (1, 3) else 1)
