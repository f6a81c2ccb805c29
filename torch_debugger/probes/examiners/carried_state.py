"""A tensor that ties one round of a loop to the graph of the round before: a hidden state, a running loss."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from torch_debugger.anatomy.sources import class_source
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_scene import Node, backward_roots, graph_of, named_modules, scopes
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import Scope, assigned, names_read, statement_place
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
    return next(_in_modules(scene, graph), None)


def _in_loop(scope: Scope, loop: ast.stmt, graph: set[Node]) -> Iterator[CarriedState]:
    inside = [node for node in scope.statements() if loop.lineno < node.lineno <= (loop.end_lineno or 0)]
    for node in inside:
        for name in assigned(node):
            parts = graph_parts(_value(scope, name))
            if parts and _is_read_first(inside, node, name) and any(part in graph for part in _nodes(parts)):
                count = 0 if is_tensor(_value(scope, name)) else len(parts)
                yield CarriedState(name, scope.place(node), statement_place(scope.file, scope.line), count)


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
    parts = [value] if is_tensor(value) else list(value[:_PARTS]) if type(value) in (tuple, list) else []
    return [part for part in parts if is_tensor(part) and part.grad_fn is not None]


def _nodes(parts: list[Any]) -> Iterator[Node]:
    return itertools.chain.from_iterable(graph_of(part) for part in parts)


def _in_modules(scene: Scene, graph: set[Node]) -> Iterator[CarriedState]:
    """An attribute of a module that its forward reads and writes."""
    for path, module in named_modules(scene):
        for name, value in list(vars(module).items()):
            parts = graph_parts(value)
            source = class_source(type(module)) if parts and any(n in graph for n in _nodes(parts)) else None
            node = _keeping(source[1], f"self.{name}") if source else None
            if source and node is not None:
                place = statement_place(source[0], node.lineno, path)
                yield CarriedState(f"self.{name}", place, place, 0 if is_tensor(value) else len(parts), True)


def _keeping(cls: ast.ClassDef, name: str) -> ast.stmt | None:
    """The last statement that binds an attribute in a method that reads it too."""
    for method in (node for node in cls.body if isinstance(node, ast.FunctionDef)):
        inner = [node for node in ast.walk(method) if isinstance(node, ast.stmt) and node is not method]
        bound = [node for node in inner if name in assigned(node)]
        if bound and any(name in _read(node) for node in inner) and method.name != "__init__":
            return max(bound, key=lambda node: node.lineno)
    return None
