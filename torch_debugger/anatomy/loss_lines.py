"""The line that computes a loss: behind its mean, variables that only carry it, and calls that return it."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import last_assignment
from torch_debugger.records import Place

_REDUCTIONS = ("mean", "sum", "squeeze", "float")
_HOPS = 6


def computed_at(backward: Place, name: str) -> Place | None:
    """From the line that calls backward() on a variable back to the statement whose value it is."""
    tree = tree_of(backward.file) if backward.file else None
    if tree is None or backward.file is None or backward.line is None:
        return None
    found: ast.stmt | None = last_assignment(tree, backward.line, name)
    for _ in range(_HOPS):
        further = _behind(tree, found) if found is not None else None
        if further is None:
            break
        found = further
    return place_at(backward.file, found.lineno) if found is not None else None


def _behind(tree: ast.Module, statement: ast.stmt) -> ast.stmt | None:
    """The statement that made what this one only hands on."""
    value = _unreduced(getattr(statement, "value", None))
    if isinstance(value, ast.Name):
        return last_assignment(tree, statement.lineno, value.id)
    return _returning(tree, value.func) if isinstance(value, ast.Call) else None


def _unreduced(value: ast.expr | None) -> ast.expr | None:
    """`nll` for nll.mean() and torch.mean(nll)"""
    while (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _REDUCTIONS
    ):
        of_torch = isinstance(value.func.value, ast.Name) and value.func.value.id == "torch"
        inner = next(iter(value.args), None) if of_torch else value.func.value
        if inner is None:
            break
        value = inner
    return value


def _returning(tree: ast.Module, called: ast.expr) -> ast.stmt | None:
    """The only return of the file's only function of this name."""
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    functions = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    returns = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Return)]
    return returns[0] if len(functions) == 1 and len(returns) == 1 else None
