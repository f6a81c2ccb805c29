"""Follows the result of one call through the user's source, to the line that cuts it off its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from torch_debugger.anatomy.cuts import cutting
from torch_debugger.anatomy.sources import covers, nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place

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
    held = {argument.arg for argument in [*function.args.args[1:], *function.args.kwonlyargs]}
    statements = _statements(function, 0)
    for number, statement in enumerate(statements):
        if not held & _read(statement):
            continue
        cuts = [part for part in cutting(statement) if held & _read(part)]
        if cuts and _goes_on(statement, statements[number + 1 :]):
            return place_at(file, cuts[0].lineno)
        held |= _given(statement)
    return None


def _follow(tree: ast.Module, file: str, line: int) -> tuple[Place | None, bool]:
    """(the cut, whether the result leaves this function)"""
    held: set[str] = set()
    statements = _statements(function_around(tree, line), line)
    for number, statement in enumerate(statements):
        is_source = covers(statement, line)
        if not is_source and not held & _read(statement):
            continue
        if _calls_backward(statement):
            return None, False
        goes_on = _goes_on(statement, statements[number + 1 :])
        found = _cut_of(statement, held, is_source, tree, file) if goes_on else None
        if found is not None:
            return found, False
        held |= _given(statement)
        if isinstance(statement, ast.Return):
            return None, True
    return None, False


def _statements(function: ast.AST, line: int) -> list[Simple]:
    found = [node for node in ast.walk(function) if isinstance(node, Simple)]
    return sorted((node for node in found if (node.end_lineno or 0) >= line), key=lambda node: node.lineno)


def _cut_of(statement: Simple, held: set[str], is_source: bool, tree: ast.Module, file: str) -> Place | None:
    cuts = [part for part in cutting(statement) if is_source or held & _read(part)]
    if cuts:
        return place_at(file, cuts[0].lineno)
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and any(_brings(part, held, is_source) for part in call.args):
            function = _local_function(tree, call)
            found = cut_in(file, function) if function is not None else None
            if found is not None:
                return found
    return None


def _brings(argument: ast.expr, held: set[str], is_source: bool) -> bool:
    """Whether it may be the result that is followed: by its name, or as the call that makes it."""
    return bool(held & _read(argument)) or (is_source and isinstance(argument, ast.Call))


def _local_function(tree: ast.Module, call: ast.Call) -> ast.FunctionDef | None:
    """whiten(code) or self.whiten(code), where this file has one function of that name, or one class of which
    that is an object."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
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
        and any(getattr(target, "attr", getattr(target, "id", "")) == name for target in node.targets)
    }
    classes = [node for node in nodes_of(tree) if isinstance(node, ast.ClassDef) and node.name in made]
    methods = [part for node in classes for part in node.body if isinstance(part, ast.FunctionDef)]
    return [method for method in methods if method.name == "__call__"]


def _goes_on(statement: Simple, later: Sequence[Simple]) -> bool:
    """Not where the result is only kept in an attribute, printed, or collected in what nobody reads."""
    collector = _collector(statement)
    if collector:
        readers = [each for each in later if not isinstance(each, ast.Expr) and _collector(each) != collector]
        return any(collector in _read(each) for each in readers)
    if isinstance(statement, ast.Expr):
        value = statement.value
        return isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "detach_"
    return not isinstance(statement, ast.Assign) or bool(_given(statement))


def _collector(statement: Simple) -> str:
    """states of states.append(h) and of states[:, t] = h"""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            return name if method in _COLLECTING else ""
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
            return name
    return ""


def _given(statement: Simple) -> set[str]:
    if collector := _collector(statement):
        return {collector}
    targets: Iterable[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    stored = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return {part.id for part in stored if isinstance(part.ctx, ast.Store)}


def _read(node: ast.AST) -> set[str]:
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return {part.id for part in names if isinstance(part.ctx, ast.Load)}


def _calls_backward(statement: Simple) -> bool:
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return any(getattr(call.func, "attr", "") == "backward" for call in calls)
