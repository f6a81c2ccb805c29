"""Where in the user's source a thing is: its class, its forward, a call, the line that makes it."""

from __future__ import annotations

import ast

from torch import nn

from torch_debugger.anatomy.constructors import constructor_places
from torch_debugger.anatomy.sources import class_source, is_user_file, nodes_of, place_at, tree_of
from torch_debugger.records import Place

__all__ = ["class_place", "constructor_places", "find_call", "forward_place", "is_user_file", "place_at"]


def class_place(cls: type) -> Place:
    """The class statement, for a class of the user's."""
    source = class_source(cls)
    return place_at(source[0], source[1].lineno) if source else Place()


def forward_place(root: nn.Module) -> Place:
    """The `def forward` line of the user's class, or of the base class it comes from."""
    for cls in type(root).__mro__:
        source = class_source(cls)
        for node in source[1].body if source else ():
            if source and isinstance(node, ast.FunctionDef) and node.name == "forward":
                return place_at(source[0], node.lineno)
    return Place()


def find_call(file: str, first_line: int, last_line: int, names: tuple[str, ...]) -> Place | None:
    """The first call between two lines whose function's name ends with one of `names`."""
    tree = tree_of(file)
    calls = [node for node in nodes_of(tree) if isinstance(node, ast.Call)] if tree else []
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        if first_line <= call.lineno <= last_line and ast.unparse(call.func).endswith(names):
            return place_at(file, call.lineno)
    return None
