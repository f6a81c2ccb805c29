"""A tensor that ties one round of a loop to the graph of the round before: a hidden state, a running loss."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import class_source, covers
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_scene import Node, backward_roots, graph_of, named_modules, scopes
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import Scope, assigned, names_read, statement_place
from torch_debugger.records import Place
from torch_debugger.records.evidence.autograd import CarriedState

_PARTS = 8


def find_carried(scene: Scene) -> CarriedState | None:
    """The first that is shown by source and graph: a variable of a loop, else an attribute of a module."""
    graph = {node for root in backward_roots(scene) for node in graph_of(root)}
    for scope in scopes(scene):
        for loop in scope.loops():
            found = next(_in_loop(scope, loop, graph), None)
            if found is not None:
                return found
    return next(_in_objects(scene, graph), None)


def _in_loop(scope: Scope, loop: ast.stmt, graph: set[Node]) -> Iterator[CarriedState]:
    inside = [node for node in scope.statements() if loop.lineno < node.lineno <= (loop.end_lineno or 0)]
    for node in inside:
        for name in assigned(node):
            parts = graph_parts(_value(scope, name))
            if parts and _is_read_first(inside, node, name) and any(part in graph for part in _nodes(parts)):
                count = 0 if is_tensor(_value(scope, name)) else len(parts)
                yield CarriedState(name, scope.place(node), statement_place(scope.file, scope.line), count)
        appended = _appended(node)
        parts = graph_parts(scope.named(appended))
        if parts and _is_indexed(inside, appended) and any(part in graph for part in _nodes(parts[-1:])):
            yield CarriedState(appended, scope.place(node), scope.place(node))


def _value(scope: Scope, name: str) -> Any:
    return scope.held(ast.parse(name, mode="eval").body)


def _is_read_first(inside: list[ast.stmt], node: ast.stmt, name: str) -> bool:
    """Read in the loop at or above the first statement that binds it: it came from the round before."""
    if isinstance(node, ast.AugAssign):
        return True
    bound = [other for other in inside if name in assigned(other)]
    readers = [other for other in inside if other.lineno <= bound[0].lineno and not hasattr(other, "body")]
    return any(name in _read(other) for other in readers)


def _read(node: ast.stmt) -> list[str]:
    attributes = [part for part in ast.walk(node) if isinstance(part, ast.Attribute)]
    loaded = [ast.unparse(part) for part in attributes if isinstance(part.ctx, ast.Load)]
    return names_read(node) + loaded


def graph_parts(value: Any) -> list[Any]:
    """The tensors with a graph in a value: itself, or the parts of a tuple or list."""
    parts = [value] if is_tensor(value) else list(value[:_PARTS]) if is_one_of(value, (tuple, list)) else []
    return [part for part in parts if is_tensor(part) and part.grad_fn is not None]


def _nodes(parts: list[Any]) -> Iterator[Node]:
    return itertools.chain.from_iterable(graph_of(part) for part in parts)


def _appended(node: ast.stmt) -> str:
    """`states` of states.append(h)"""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append":
        return ast.unparse(call.func.value)
    return ""


def _is_indexed(inside: list[ast.stmt], name: str) -> bool:
    """Whether entries are taken out again: states[-1]"""
    parts = [part for node in inside for part in ast.walk(node) if isinstance(part, ast.Subscript)]
    return any(ast.unparse(part.value) == name for part in parts)


def _in_objects(scene: Scene, graph: set[Node]) -> Iterator[CarriedState]:
    """An attribute that a method of its object both reads and writes: a module's state, a trainer's."""
    for path, owner in _objects(scene):
        for name, parts in kept_graphs(owner, graph):
            source = class_source(type(owner))
            method, node = _keeping(source[1], f"self.{name}") if source else (None, None)
            if source is None or method is None or node is None or is_cached(method, node, f"self.{name}"):
                continue
            place = statement_place(source[0], node.lineno, path or None)
            held = vars(owner)[name]
            yield CarriedState(
                f"self.{name}", place, _behind(scene, source[0], method) or place,
                0 if is_tensor(held) else len(parts), in_module=is_a(owner, nn.Module),
            )  # fmt: skip


def _objects(scene: Scene) -> Iterator[tuple[str, Any]]:
    """The modules in reach, and whatever else is `self` in a user's frame."""
    yield from named_modules(scene)
    for scope in scopes(scene):
        owner = scope.seen.frame.f_locals.get("self")
        if owner is not None and not is_a(owner, nn.Module) and hasattr(type(owner), "__dict__"):
            yield "", owner


def kept_graphs(owner: Any, graph: set[Node]) -> Iterator[tuple[str, list[Any]]]:
    """The attributes that hold tensors of the graph."""
    for name, value in list(getattr(owner, "__dict__", {}).items()):
        parts = graph_parts(value)
        if parts and any(node in graph for node in _nodes(parts)):
            yield name, parts


def _keeping(cls: ast.ClassDef, name: str) -> tuple[ast.FunctionDef | None, ast.stmt | None]:
    """The last statement that binds an attribute in a method that reads it too, and that method."""
    for method in (node for node in cls.body if isinstance(node, ast.FunctionDef)):
        inner = [node for node in ast.walk(method) if isinstance(node, ast.stmt) and node is not method]
        bound = [node for node in inner if name in assigned(node)]
        if bound and any(name in _read(node) for node in inner) and method.name != "__init__":
            return method, max(bound, key=lambda node: node.lineno)
    return None, None


def filling(cls: type, name: str) -> tuple[str, int] | None:
    """The file and line where a class fills an attribute that was still empty."""
    source = class_source(cls)
    method, node = _keeping(source[1], name) if source else (None, None)
    return (source[0], node.lineno) if source and method and node and is_cached(method, node, name) else None


def is_cached(method: ast.FunctionDef, node: ast.stmt, name: str) -> bool:
    """Filled only where it is still empty: `if self.table is None: self.table = ...`"""
    tests = [part for part in ast.walk(method) if isinstance(part, ast.If) and covers(part, node.lineno)]
    return any(name in ast.unparse(part.test) for part in tests) and name not in _read(node)


def _behind(scene: Scene, file: str, method: ast.FunctionDef) -> Place | None:
    """The backward's own line, where it stands in the method that keeps the state."""
    for scope in scopes(scene):
        if scope.file == file and covers(method, scope.line):
            return statement_place(file, scope.line)
    return None
