"""Whether the user's source ever uses an attribute of a class once it has been filled."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from torch import nn

from torch_debugger.anatomy.sources import class_source, is_user_file, place_at, tree_of
from torch_debugger.records import Place

_SETUP = frozenset({"__init__", "reset_parameters", "_reset_parameters", "init_weights", "_init_weights"})
# Whoever walks over children may meet any of them.
_WALKS = frozenset(
    {"children", "named_children", "modules", "named_modules", "_modules", "get_submodule", "__dict__"}
)


def is_never_read(owner: nn.Module, name: str) -> bool:
    """No line of the user's reads the attribute outside of what sets the module up. False where unsure."""
    sources = [source for cls in type(owner).__mro__ if (source := class_source(cls)) is not None]
    if not any(_has_forward(statement) for _, statement in sources):
        return False  # the forward is a library's
    if any(_is_dynamic(node) for _, statement in sources for node in ast.walk(statement)):
        return False
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    files = {file for file, _ in sources} | ({script} if isinstance(script, str) else set())
    trees = [tree for file in files if is_user_file(file) and (tree := tree_of(file)) is not None]
    return not any(_reads(node, name) for tree in trees for node in _outside_setup(tree))


def called_twice(owner: nn.Module, name: str) -> tuple[str, Place] | None:
    """A sibling of the same class that forward calls twice, with its second call: what should stand there?"""
    source = class_source(type(owner))
    unused = getattr(owner, name, None)
    for method in source[1].body if source else ():
        if isinstance(method, ast.FunctionDef) and method.name == "forward" and source:
            calls = sorted(_own_calls(method), key=lambda call: (call[1], call[2]))
            for index, (sibling, line, _) in enumerate(calls):
                again = any(before == sibling for before, _, _ in calls[:index])
                if again and type(getattr(owner, sibling, None)) is type(unused):
                    return sibling, place_at(source[0], line)
    return None


def _own_calls(method: ast.FunctionDef) -> Iterator[tuple[str, int, int]]:
    """(attribute, line, column) of self.attribute(...)"""
    own = method.args.args[0].arg
    for node in ast.walk(method):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute)) if name == own:
                yield attribute, node.lineno, node.end_col_offset or 0


def _has_forward(statement: ast.ClassDef) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "forward" for node in statement.body)


def _is_dynamic(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _WALKS
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        return len(node.args) < 2 or not isinstance(node.args[1], ast.Constant)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("vars", "eval")


def _outside_setup(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.FunctionDef) and child.name in _SETUP):
            yield child
            yield from _outside_setup(child)


def _reads(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Constant) and node.value == name  # getattr(self, "aux"), a dictionary of layers
