"""Follows the result of one call through the user's source, to the line that cuts it off its graph."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch_debugger.records import Place
from torch_debugger.source.files import covers, nodes_of, place_at, tree_of
from torch_debugger.source.statements import function_around
from torch_debugger.source.syntax import (
    called_method,
    called_name,
    calls_in,
    dotted,
    last_name,
    methods_of,
    names_read,
    names_stored,
    nodes_in,
    targets_of,
)

Simple = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr
_COLLECTING = frozenset({"append", "extend", "insert"})


def find_cut(lines: Sequence[tuple[str, int]]) -> Place | None:
    """From the call at the innermost of these lines out through its callers, while the result is returned."""
    for file, line in lines:
        tree = tree_of(file)
        if tree is None:
            return None
        found, returned = _follow(tree, file, line)
        if found is not None or not returned:
            return found
    return None


def cut_in(file: str, function: ast.AST) -> Place | None:
    """The last cut of a function whose result goes on: what it returns comes last."""
    statements = _statements(function, 0)
    on = [node for number, node in enumerate(statements) if _goes_on(node, statements[number + 1 :])]
    found = [part.lineno for statement in on for part in cutting(statement)]
    return place_at(file, max(found)) if found else None


def cut_of_arguments(file: str, function: ast.FunctionDef) -> Place | None:
    """The first line at which what a function was given, or was made of it, is cut off and goes on."""
    followed = {argument.arg for argument in [*function.args.args[1:], *function.args.kwonlyargs]}
    statements = _statements(function, 0)
    for number, statement in enumerate(statements):
        if followed.isdisjoint(names_read(statement)):
            continue
        cuts = [part for part in cutting(statement) if followed.intersection(names_read(part))]
        if cuts and _goes_on(statement, statements[number + 1 :]):
            return place_at(file, cuts[0].lineno)
        followed |= _names_assigned(statement)
    return None


def _follow(tree: ast.Module, file: str, line: int) -> tuple[Place | None, bool]:
    """(the cut, whether the result leaves this function)"""
    followed: set[str] = set()
    statements = _statements(function_around(tree, line), line)
    for number, statement in enumerate(statements):
        is_source = covers(statement, line)
        if not is_source and followed.isdisjoint(names_read(statement)):
            continue
        if any(called_method(call) for call in calls_in(statement, "backward")):
            return None, False
        goes_on = _goes_on(statement, statements[number + 1 :])
        found = _cut_of(statement, followed, is_source, tree, file) if goes_on else None
        if found is not None:
            return found, False
        followed |= _names_assigned(statement)
        if isinstance(statement, ast.Return):
            return None, True
    return None, False


def _statements(function: ast.AST, line: int) -> list[Simple]:
    found = [node for node in ast.walk(function) if isinstance(node, Simple)]
    return sorted((node for node in found if (node.end_lineno or 0) >= line), key=lambda node: node.lineno)


def _cut_of(statement: Simple, followed: set[str], is_source: bool, tree: ast.Module, file: str) -> Place | None:
    cuts = [part for part in cutting(statement) if is_source or followed.intersection(names_read(part))]
    if cuts:
        return place_at(file, cuts[0].lineno)
    for call in calls_in(statement):
        if any(_brings(part, followed, is_source) for part in call.args):
            function = _local_function(tree, call)
            found = cut_in(file, function) if function is not None else None
            if found is not None:
                return found
    return None


def _brings(argument: ast.expr, followed: set[str], is_source: bool) -> bool:
    """Whether it may be the result that is followed: by its name, or as the call that makes it."""
    return bool(followed.intersection(names_read(argument))) or (is_source and isinstance(argument, ast.Call))


def _local_function(tree: ast.Module, call: ast.Call) -> ast.FunctionDef | None:
    """whiten(code) or self.whiten(code), where this file has one function of that name, or one class of which
    that is an object."""
    name = called_name(call)
    functions = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)]
    found = [node for node in functions if node.name == name] or _called_objects(tree, name)
    return found[0] if len(found) == 1 else None


def _called_objects(tree: ast.Module, name: str) -> list[ast.FunctionDef]:
    """The __call__ of the classes that `self.whiten = Whitener(...)` makes objects of."""
    made = {
        node.value.func.id
        for node in nodes_of(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and name in map(last_name, node.targets)
    }
    classes = [node for node in nodes_of(tree) if isinstance(node, ast.ClassDef) and node.name in made]
    return [methods["__call__"] for node in classes if "__call__" in (methods := methods_of(node))]


def _goes_on(statement: Simple, later: Sequence[Simple]) -> bool:
    """Not where the result is only kept in an attribute, printed, or collected in what nobody reads."""
    collector = _collector(statement)
    if collector:
        readers = [each for each in later if not isinstance(each, ast.Expr) and _collector(each) != collector]
        return any(collector in names_read(each) for each in readers)
    if isinstance(statement, ast.Expr):
        return called_method(statement.value) == "detach_"
    return not isinstance(statement, ast.Assign) or bool(_names_assigned(statement))


def _collector(statement: Simple) -> str:
    """states of states.append(h) and of states[:, t] = h"""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            return name if method in _COLLECTING else ""
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
            return name
    return ""


def _names_assigned(statement: Simple) -> set[str]:
    if collector := _collector(statement):
        return {collector}
    return {name for target in targets_of(statement) for name in names_stored(target)}


# Lines after which a gradient cannot find its way back: detach(), .data, numpy(), argmax, no_grad.
_METHODS = frozenset({"detach", "detach_", "item", "numpy", "tolist", "argmax", "argmin", "long", "int"})
_WRAPPERS = frozenset({"torch.tensor", "torch.as_tensor", "torch.from_numpy", "torch.FloatTensor", "torch.Tensor"})
_SWITCHES = ("no_grad", "inference_mode", "set_grad_enabled(False)")


def find_switch(file: str, line: int) -> Place | None:
    """The `with torch.no_grad():` or the decorator that a line runs under."""
    tree = tree_of(file)
    if tree is None:
        return None
    blocks = [node for node in nodes_in(file, ast.With) if covers(node, line)]
    lines = [block.lineno for block in blocks if any(_switches(item.context_expr) for item in block.items)]
    function = function_around(tree, line)
    lines += [mark.lineno for mark in getattr(function, "decorator_list", ()) if _switches(mark)]
    return place_at(file, max(lines)) if lines else None


def find_dropped(file: str, line: int) -> Place | None:
    """The statement at a line, where it calls something and nobody reads the result."""
    tree = tree_of(file)
    function = function_around(tree, line) if tree is not None else None
    if function is None:
        return None
    found = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.Expr) and covers(node, line)]
    found = [node for node in found if isinstance(node.value, ast.Call)]
    if not found:
        return None
    statement = max(found, key=lambda node: node.lineno)
    if isinstance(statement, ast.Assign) and not _is_forgotten(statement, function):
        return None
    return place_at(file, statement.lineno)


def _is_forgotten(statement: ast.Assign, function: ast.AST) -> bool:
    names = {part.id for target in statement.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    kept = any(isinstance(part, ast.Attribute) for target in statement.targets for part in ast.walk(target))
    return not kept and names.isdisjoint(names_read(function)) and not any(name.startswith("_") for name in names)


def cutting(statement: ast.AST) -> Iterator[ast.expr]:
    """The expressions in a piece of source whose results have no graph."""
    for node in ast.walk(statement):
        match node:
            case ast.Attribute(attr="data", ctx=ast.Load()):
                yield node
            case ast.Call(func=function, args=arguments) if dotted(function) in _WRAPPERS:
                if not all(isinstance(part, ast.Constant) for part in arguments):
                    yield node
            case ast.Call() if called_method(node) in _METHODS:
                yield node


def _switches(node: ast.expr) -> bool:
    return any(word in ast.unparse(node) for word in _SWITCHES)


# Lines that write values where autograd does not look: through `.data`.
@dataclass(frozen=True)
class DataWrite:
    place: Place
    target: str  # model.fc.weight of model.fc.weight.data.mul_(0.9)


def data_writes(files: tuple[str, ...]) -> tuple[DataWrite, ...]:
    """All of them; most programs have none."""
    named = (file for file in files if any(".data" in line for line in linecache.getlines(file)))
    return tuple(write for file in named if (tree := tree_of(file)) for write in _writes(file, tree))


def touched_between(write: Place, backward: Place) -> frozenset[str]:
    """Names that are bound, or whose tensors may be written in place, from one line to just before another."""
    tree = tree_of(write.file)
    first, last = write.line or 0, backward.line or 0
    return frozenset(
        name
        for node in (nodes_of(tree) if tree is not None else ())
        if first <= getattr(node, "lineno", 0) < last
        for name in _touched(node)
    )


def _touched(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
            yield name
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=arguments) if _is_in_place(method):
            yield from (each.id for each in (owner, *arguments[:1]) if isinstance(each, ast.Name))


def write_before(backward: Place, writes: tuple[DataWrite, ...]) -> DataWrite | None:
    """The last one above backward() in its own function; else the only one there is."""
    tree = tree_of(backward.file) if backward.line else None
    if tree is not None:
        around = function_around(tree, backward.line or 0)
        first = getattr(around, "lineno", 0)
        own = [
            write
            for write in writes
            if write.place.file == backward.file and first <= (write.place.line or 0) < (backward.line or 0)
            if function_around(tree, write.place.line or 0) is around
        ]
        if own:
            return max(own, key=lambda write: write.place.line or 0)
    return writes[0] if len(writes) == 1 else None


@functools.lru_cache(maxsize=64)
def _writes(file: str, tree: ast.Module) -> tuple[DataWrite, ...]:
    found = [
        DataWrite(place_at(file, node.lineno), ast.unparse(owner))
        for node in nodes_of(tree)
        if isinstance(node, ast.stmt | ast.expr)
        for target in _written(node)
        if (owner := _owner(target)) is not None
    ]
    return tuple(found)


def _written(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            yield from targets
        case ast.AugAssign(target=target):
            yield target
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if _is_in_place(method):
            yield value
            yield from node.args[:1]  # init.normal_(p.data)


def _is_in_place(method: str) -> bool:
    return method.endswith("_") and not method.endswith("__") and method != "requires_grad_"


def _owner(written: ast.expr) -> ast.expr | None:
    """p of p.data, p.data[0] and p.data.view(-1)"""
    part = written
    while True:
        match part:
            case ast.Attribute(value=value, attr="data"):
                return value
            case ast.Subscript(value=value) | ast.Attribute(value=value) | ast.Call(func=value):
                part = value
            case _:
                return None
