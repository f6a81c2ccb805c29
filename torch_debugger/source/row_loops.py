"""Loops of the user's source that go through the rows of tensors, each pass by itself.

Told by the source alone; whether what they index are tensors, a running frame must say. Where a pass could
use what another one made, or may do something else than the others, it is no such loop.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.source.files import covers, nodes_of, tree_of
from torch_debugger.source.syntax import called_method, dotted, names_read, names_stored

Loop = ast.For | ast.ListComp | ast.GeneratorExp
_LOOPS = (ast.For, ast.ListComp, ast.GeneratorExp)
# Passes with these may differ from each other, end early, or do more than compute.
_NEVER = (
    ast.If, ast.IfExp, ast.While, ast.Try, ast.With, ast.Break, ast.Continue, ast.Return, ast.Yield, ast.Await,
    ast.Lambda, ast.FunctionDef, ast.NamedExpr, ast.Raise, ast.Assert, ast.Delete, ast.Starred, ast.JoinedStr,
    ast.DictComp, ast.SetComp, *_LOOPS,
)  # fmt: skip
# Methods that leave torch, or train.
_LEAVES = {"item", "tolist", "numpy", "cpu", "cuda", "to", "backward", "step", "zero_grad", "detach_"}


@dataclass(frozen=True)
class RowLoop:
    header: int  # the lines of the source
    last: int
    taken: tuple[tuple[str, int], ...]  # what is taken apart, and along which dim: x[:, t] -> ("x", 1)
    called: tuple[str, ...]  # functions and modules by their names: torch.relu, self.layer
    is_comprehension: bool
    sums_up: bool  # adds what the passes give to one number


@functools.lru_cache(maxsize=512)
def row_loop_at(file: str, line: int) -> RowLoop | None:
    """The innermost loop around a line, if it is one."""
    tree = tree_of(file)
    nodes = nodes_of(tree) if tree is not None else ()
    around = [node for node in nodes if isinstance(node, _LOOPS) and covers(node, line)]
    innermost = max(around, key=lambda node: (node.lineno, node.col_offset), default=None)
    return read_loop(innermost) if innermost is not None else None


def read_loop(loop: Loop) -> RowLoop | None:
    head = _head(loop)
    body: list[ast.AST] = list(loop.body) if isinstance(loop, ast.For) else [loop.elt]
    inside = [node for part in body for node in ast.walk(part)]
    if head is None or any(isinstance(node, _NEVER) for node in inside):
        return None
    index, iterated = head
    indexed = _indexed(inside, index) if index else []
    called = _called(inside)
    if indexed is None or called is None or not (indexed or iterated) or _cuts_differently(inside, index):
        return None
    if isinstance(loop, ast.For) and (loop.orelse or not is_apart(loop.body, index)):
        return None
    own = _of_a_pass(loop, body)
    return RowLoop(
        header=loop.lineno if isinstance(loop, ast.For) else loop.elt.lineno,  # where each pass comes by
        last=loop.end_lineno or loop.lineno,
        taken=tuple(dict.fromkeys([(name, 0) for name in iterated] + indexed)),
        called=tuple(dict.fromkeys(name for name in called if name.split(".")[0] not in own)),
        is_comprehension=not isinstance(loop, ast.For),
        sums_up=isinstance(loop, ast.For) and any(added_to(each) for each in loop.body),
    )


def _head(loop: Loop) -> tuple[str, list[str]] | None:
    """The variable that counts, if there is one, and the names of what is gone through."""
    if isinstance(loop, ast.For):
        target, through = loop.target, loop.iter
    elif len(loop.generators) == 1 and not loop.generators[0].ifs:
        target, through = loop.generators[0].target, loop.generators[0].iter
    else:
        return None
    match target, through:
        case ast.Name(id=name), ast.Call(func=ast.Name(id="range")):
            return name, []
        case ast.Tuple(elts=[ast.Name(id=name), ast.Name()]), ast.Call(func=ast.Name(id="enumerate"), args=[items]):
            return (name, [dotted(items)]) if dotted(items) else None
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=items):
            plain = all(isinstance(each, ast.Name) for each in targets) and all(map(dotted, items))
            return ("", list(map(dotted, items))) if plain and items else None
        case ast.Name(), _ if dotted(through):
            return "", [dotted(through)]
    return None


def _indexed(inside: list[ast.AST], index: str) -> list[tuple[str, int]] | None:
    """What the counting variable indexes; None where it is used for anything else."""
    found = []
    used = sum(isinstance(node, ast.Name) and node.id == index for node in inside)
    for node in inside:
        if not isinstance(node, ast.Subscript):
            continue
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for dim, part in enumerate(parts):
            uses = uses_of(part, index)
            used -= uses
            if uses and not dotted(node.value):
                return None
            if uses and isinstance(node.ctx, ast.Load):
                found.append((dotted(node.value), dim))
    return found if not used else None


def _cuts_differently(inside: list[ast.AST], index: str) -> bool:
    """x[i, :lengths[i]]: rows that end at different places."""
    slices = [node.slice for node in inside if isinstance(node, ast.Subscript)]
    parts = [part for where in slices for part in (where.elts if isinstance(where, ast.Tuple) else [where])]
    others = [part for part in parts if not index or not uses_of(part, index)]
    return any(isinstance(node, (ast.Name, ast.Subscript)) for part in others for node in ast.walk(part)
               if isinstance(part, ast.Slice) or _is_indexed_by(node, index))  # fmt: skip


def _is_indexed_by(node: ast.AST, index: str) -> bool:
    return isinstance(node, ast.Subscript) and bool(index) and uses_of(node.slice, index) > 0


def _of_a_pass(loop: Loop, body: list[ast.AST]) -> set[str]:
    """Variables that each pass fills itself, or collects into: their methods are no calls of others."""
    target = loop.target if isinstance(loop, ast.For) else loop.generators[0].target
    names = {name for part in (target, *body) for name in names_stored(part)}
    return names | {name for part in body if isinstance(part, ast.stmt) for name in collected_by(part)}


def _called(inside: list[ast.AST]) -> list[str] | None:
    found = []
    for node in inside:
        if not isinstance(node, ast.Call):
            continue
        if called_method(node) in _LEAVES:
            return None
        if dotted(node.func):
            found.append(dotted(node.func))
        elif not isinstance(node.func, ast.Attribute):
            return None
    return found


# Whether the passes of a loop need each other, by its source.
def is_apart(body: list[ast.stmt], index: str) -> bool:
    """No pass reads what another one has written, and all of them only compute, add up or collect."""
    made: set[str] = set()
    kept: set[str] = set()
    for statement in body:
        collected = _collected(statement, index)
        if collected is None:
            return False
        kept |= collected
    written = {name for each in body for name in names_stored(each)} - kept
    for statement in body:
        reads = names_read(statement) if not added_to(statement) else _names_added(statement)
        if any(name in written and name not in made for name in reads):
            return False
        made |= names_stored(statement)
    nodes = [node for each in body for node in ast.walk(each)]
    everything = [
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load | ast.Store)
    ]
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
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=first), op=ast.Add())) if (
            name == first
        ):
            return name
    return ""


def _names_added(statement: ast.stmt) -> list[str]:
    name = added_to(statement)
    names = names_read(statement)
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
