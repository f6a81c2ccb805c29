"""Why a graph was asked for gradients that an earlier backward had freed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torch_debugger.anatomy.sources import covers
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_scene import (
    Node,
    backward_roots,
    graph_of,
    named_modules,
    scopes,
)
from torch_debugger.probes.examiners.backward_calls import backward_call, earlier_calls, loss_of
from torch_debugger.probes.examiners.carried_state import filling, find_carried, kept_graphs
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.shared_graphs import find_shared
from torch_debugger.probes.examiners.user_scope import (
    Scope,
    assigned,
    names_read,
    statement_place,
)
from torch_debugger.records import Place
from torch_debugger.records.evidence.autograd import FreedGraph


def examine_freed(scene: Scene) -> FreedGraph | None:
    roots = backward_roots(scene)
    for scope in scopes(scene) if roots else ():
        call = backward_call(scope)
        if call is not None:
            return _freed(scene, scope, call, roots[0])
    return None


def _freed(scene: Scene, scope: Scope, call: ast.Call, root: Any) -> FreedGraph | None:
    name = ast.unparse(loss_of(call))
    return (
        _accumulated(scope, name)
        or _again(scope, call, name)
        or find_shared(scene, scope, call, root)
        or _carried(scene)
        or _made_before(scope, name, set(graph_of(root)))
        or _cached(scene, set(graph_of(root)))
    )


def _accumulated(scope: Scope, name: str) -> FreedGraph | None:
    """`total = total + loss` in the loop that calls total.backward(), and nothing there that starts it anew."""
    loop = next(iter(scope.loops()), None)
    inside = [node for node in scope.assignments(name) if loop is not None and covers(loop, node.lineno)]
    grown = [node for node in inside if isinstance(node, ast.AugAssign) or name in names_read(node)]
    if not grown or len(grown) != len(inside):
        return None
    return FreedGraph("accumulated", name, scope.place(grown[0]), Place(), _term(grown[0], name))


def _term(node: ast.stmt, name: str) -> str:
    """What is added: `loss` of total += loss, total = total + loss"""
    value = getattr(node, "value", None)
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.value)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        other = value.right if ast.unparse(value.left) == name else value.left
        return ast.unparse(other)
    return ""


def _again(scope: Scope, call: ast.Call, name: str) -> FreedGraph | None:
    made = scope.assignment_before(name, call.lineno)
    start = made.lineno if made is not None else 0
    for other in earlier_calls(scope, call):
        if ast.unparse(loss_of(other)) == name and start <= other.lineno <= call.lineno:
            return FreedGraph("again", name, scope.place_of(made), scope.place(other))
    loop = next(iter(scope.loops()), None)
    if made is not None and loop is not None and not covers(loop, made.lineno):
        return FreedGraph("repeated", name, scope.place_of(made), Place())
    return None


def _carried(scene: Scene) -> FreedGraph | None:
    carried = find_carried(scene)
    if carried is None:
        return None
    return FreedGraph("carried", carried.name, carried.place, Place(), carried=carried)


def _made_before(scope: Scope, loss: str, graph: set[Node]) -> FreedGraph | None:
    """A variable made once, above the loop, in the graph of every round."""
    loop = next(iter(scope.loops()[::-1]), None)
    for node in _above(scope, loop):
        for name in assigned(node):
            value = scope.named(name)
            if name != loss and is_tensor(value) and value.grad_fn in graph:
                return FreedGraph("made-before", name, scope.place(node), Place())
    return None


def _cached(scene: Scene, graph: set[Node]) -> FreedGraph | None:
    """An attribute that a module fills once, with its graph."""
    for path, module in named_modules(scene):
        for name, _ in kept_graphs(module, graph):
            bound = filling(type(module), f"self.{name}")
            if bound is not None:
                return FreedGraph("cached", f"self.{name}", statement_place(*bound, path), Place())
    return None


def _above(scope: Scope, loop: ast.stmt | None) -> Iterator[ast.stmt]:
    for node in reversed(scope.statements()):
        if loop is not None and node.lineno < loop.lineno:
            yield node
