"""Whether the passes of a loop need each other, by its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def is_apart(body: list[ast.stmt], index: str) -> bool:
    """No pass reads what another one has written, and all of them only compute, add up or collect."""
    made: set[str] = set()
    kept: set[str] = set()
    for statement in body:
        collected = _collected(statement, index)
        if collected is None:
            return False
        kept |= collected
    written = {name for each in body for name in _stored(each)} - kept
    for statement in body:
        reads = _names(statement, ast.Load) if not added_to(statement) else _names_added(statement)
        if any(name in written and name not in made for name in reads):
            return False
        made |= _stored(statement)
    everything = [name for each in body for name in _names(each, ast.Load, ast.Store)]
    # What is kept from all passes is written by its one statement and looked at by none.
    return all(everything.count(name) <= _own_uses(body, name) for name in kept)


def _collected(statement: ast.stmt, index: str) -> set[str] | None:
    """The variable that a statement puts its result into for later; None for statements of other kinds."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[_])):
            return {name}
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub()):
            return {name}
        case ast.Assign(targets=[ast.Name(id=name)]):
            return {name} if added_to(statement) else set()
        case ast.Assign(targets=[ast.Tuple(elts=parts)]) if all(isinstance(each, ast.Name) for each in parts):
            return set()
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=where)]):
            parts = where.elts if isinstance(where, ast.Tuple) else [where]
            return {name} if any(uses_of(part, index) for part in parts) else None
    return None


def added_to(statement: ast.stmt) -> str:
    """loss += ..., loss = loss + ...; the variable, or nothing."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub()):
            return name
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=first), op=ast.Add())
        ) if name == first:
            return name
    return ""


def _names_added(statement: ast.stmt) -> list[str]:
    name = added_to(statement)
    names = _names(statement, ast.Load)
    if isinstance(statement, ast.Assign):
        names.remove(name)
    return names


def _own_uses(body: list[ast.stmt], name: str) -> int:
    """How often a variable that is collected into stands in the statement that does so."""
    return sum(2 if isinstance(each, ast.Assign) and added_to(each) == name else 1 for each in body
               if name in (added_to(each), *collected_by(each)))  # fmt: skip


def collected_by(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            yield name
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
            yield name


def _stored(statement: ast.stmt) -> set[str]:
    return set(_names(statement, ast.Store))


def _names(statement: ast.stmt, *contexts: type[ast.expr_context]) -> list[str]:
    return [
        node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, contexts)
    ]


def uses_of(part: ast.expr, index: str) -> int:
    """In x[i] and in x[i:i + 1]; elsewhere, as in x[i - 1] or x[lengths[i]], none is counted."""
    match part:
        case ast.Name(id=name) if name == index:
            return 1
        case ast.Slice(
            lower=ast.Name(id=first),
            upper=ast.BinOp(left=ast.Name(id=second), op=ast.Add(), right=ast.Constant(value=1)),
            step=None,
        ) if first == second == index:
            return 2
    return 0
