"""The statement that adds to a variable: to a list, to an entry, to a sum."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.assignments import statement_place
from torch_debugger.anatomy.sources import nodes_of, tree_of
from torch_debugger.records import Place

_FILLERS = ("append", "extend", "appendleft", "add")


def addition_to(file: str, name: str) -> tuple[Place, str]:
    """The first statement of a file that adds to `losses`, `self.losses`, `log['loss']`, and what it adds.

    A name that the file gives to an object elsewhere (`tracker.losses` for self.losses) counts where nothing
    goes by the full name.
    """
    tree = tree_of(file)
    statements = [node for node in nodes_of(tree) if isinstance(node, ast.stmt)] if tree is not None else []
    for names in ((name,), (f"self.{name.rpartition('.')[2]}",) if "." in name else ()):
        for node in statements:
            added = _added(node)
            if added is not None and added[0] in names:
                return statement_place(file, node), ast.unparse(added[1])
    return Place(), ""


def _added(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """(the variable, what is added to it)"""
    match node:
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            return ast.unparse(target), value
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=called), args=[value, *_])):
            return (ast.unparse(owner), value) if called in _FILLERS else None
        case ast.Assign(targets=[ast.Subscript(value=owner)], value=value):
            return ast.unparse(owner), value
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            name = ast.unparse(target)
            parts = {ast.unparse(left): right, ast.unparse(right): left}
            return (name, parts[name]) if name in parts else None
    return None
