"""Why a graph was asked for gradients that an earlier backward had freed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torch import nn

from torch_debugger.crashes.autograd_graph import (
    Node,
    backward_call,
    backward_roots,
    earlier_calls,
    graph_of,
    graph_of_loss,
    leaves_of,
    loss_of,
    named_modules,
    optimizers_of,
)
from torch_debugger.crashes.frames import LiveCrash, is_tensor, statement_place
from torch_debugger.crashes.functions import Scope, assigned, scopes
from torch_debugger.records import Place
from torch_debugger.records.crash_autograd import CarriedState, FreedGraph
from torch_debugger.source.files import class_source, covers
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.syntax import calls_in, names_read


def examine_freed(crash: LiveCrash) -> FreedGraph | None:
    roots = backward_roots(crash)
    calls = ((scope, call) for scope in scopes(crash) if (call := backward_call(scope)) is not None)
    scope, call = next(calls, (None, None))
    if not roots or scope is None or call is None:
        return None
    name, graph = ast.unparse(loss_of(call)), set(graph_of(roots[0]))
    return (
        _accumulated(scope, name)
        or _again(scope, call, name)
        or find_shared(crash, scope, call, roots[0])
        or _carried(crash)
        or _made_before(scope, name, graph)
        or _cached(crash, graph)
    )


def _accumulated(scope: Scope, name: str) -> FreedGraph | None:
    """`total = total + loss` in the loop that calls total.backward(), and nothing there that starts it anew."""
    loop = next(iter(scope.loops()), None)
    inside = [node for node in scope.assignments(name) if loop is not None and covers(loop, node.lineno)]
    grown = [node for node in inside if isinstance(node, ast.AugAssign) or name in names_read(node)]
    if not grown or len(grown) != len(inside):
        return None
    added, value = "", getattr(grown[0], "value", None)
    if isinstance(grown[0], ast.AugAssign):
        added = ast.unparse(grown[0].value)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        added = ast.unparse(value.right if ast.unparse(value.left) == name else value.left)
    return FreedGraph("accumulated", name, scope.place(grown[0]), Place(), added)


def _again(scope: Scope, call: ast.Call, name: str) -> FreedGraph | None:
    made = scope.assignment_before(name, call.lineno)
    start = made.lineno if made is not None else 0
    for other in earlier_calls(scope, call):
        if ast.unparse(loss_of(other)) == name and start <= other.lineno <= call.lineno:
            return FreedGraph("again", name, scope.place(made), scope.place(other))
    loop = next(iter(scope.loops()), None)
    if made is not None and loop is not None and not covers(loop, made.lineno):
        return FreedGraph("repeated", name, scope.place(made), Place())
    return None


def _carried(crash: LiveCrash) -> FreedGraph | None:
    carried = find_carried(crash)
    return FreedGraph("carried", carried.name, carried.place, Place(), carried=carried) if carried is not None else None


def _made_before(scope: Scope, loss: str, graph: set[Node]) -> FreedGraph | None:
    """A variable made once, above the loop, in the graph of every round."""
    loops = scope.loops()
    for node in reversed(scope.statements()):
        for name in assigned(node) if loops and node.lineno < loops[-1].lineno else ():
            value = scope.named(name)
            if name != loss and is_tensor(value) and value.grad_fn in graph:
                return FreedGraph("made-before", name, scope.place(node), Place())
    return None


def _cached(crash: LiveCrash, graph: set[Node]) -> FreedGraph | None:
    """An attribute that a module fills once, with its graph."""
    for path, module in named_modules(crash):
        for name, _ in kept_graphs(module, graph):
            bound = filling(type(module), f"self.{name}")
            if bound is not None:
                return FreedGraph("cached", f"self.{name}", statement_place(*bound, path), Place())
    return None


# Two losses whose graphs have a part in common, each with a backward of its own.
def find_shared(crash: LiveCrash, scope: Scope, call: ast.Call, root: Any) -> FreedGraph | None:
    """Another loss was backpropagated before, and its graph and this one have nodes in common."""
    graph = set(graph_of(root))
    for other in earlier_calls(scope, call):
        loss = scope.resolve(loss_of(other))
        common = graph & set(graph_of(loss)) if is_tensor(loss) and loss is not root else set()
        if common and other.lineno <= call.lineno:
            name, made = _common_variable(scope, common)
            calls = [each for each in calls_in(scope.function) if other.lineno <= each.lineno <= call.lineno]
            steps = [each.func.value for each in calls if isinstance(each.func, ast.Attribute)
                     and each.func.attr == "step"]  # fmt: skip
            stepped = [scope.resolve(owner) for owner in steps]
            between = [each for each in optimizers_of(crash).values() if any(each is item for item in stepped)]
            # Whether what made the tensor is trained by none of the optimizers: a GAN's fake, fed to the critic.
            leaves = {id(leaf) for leaf in leaves_of(scope.named(name))}
            trained = {id(item) for each in between for group in each.param_groups for item in group["params"]}
            foreign = bool(between and leaves) and not leaves & trained
            return FreedGraph(
                "fed" if foreign else "shared",
                name,
                _feeding(scope, other, name) if foreign else made,
                scope.place(other),
                ast.unparse(loss_of(other)),
                stepped=bool(between),
            )
    return None


def _common_variable(scope: Scope, common: set[Node]) -> tuple[str, Place]:
    """The variable nearest to both losses whose graph they share, and where it is made."""
    best: tuple[int, str] = (0, "")
    for name, value in list(scope.seen.locals.items()):
        if is_tensor(value) and value.grad_fn in common and scope.assignments(name):
            best = max(best, (len(graph_of(value)), name))
    return best[1], scope.assigned_at(best[1]) if best[1] else Place()


def _feeding(scope: Scope, backward: ast.Call, name: str) -> Place:
    """The last statement above a backward call that gives the variable to something."""
    readers = [
        node
        for node in scope.statements()
        if node.lineno < backward.lineno and not hasattr(node, "body") and calls_in(node)
        and name in names_read(node) and name not in assigned(node)
    ]  # fmt: skip
    return scope.place(readers[-1] if readers else None)


# A tensor that ties one round of a loop to the graph of the round before: a hidden state, a running loss.
_PARTS = 8


def find_carried(crash: LiveCrash) -> CarriedState | None:
    """The first that is shown by source and graph: a variable of a loop, else an attribute of a module."""
    graph = set(graph_of_loss(crash))
    for scope in scopes(crash):
        for loop in scope.loops():
            found = next(_in_loop(scope, loop, graph), None)
            if found is not None:
                return found
    return next(_in_objects(crash, graph), None)


def _in_loop(scope: Scope, loop: ast.stmt, graph: set[Node]) -> Iterator[CarriedState]:
    inside = [node for node in scope.statements() if loop.lineno < node.lineno <= (loop.end_lineno or 0)]
    for node in inside:
        for name in assigned(node):
            value = scope.resolve(ast.parse(name, mode="eval").body)
            parts = graph_parts(value)
            if _is_read_first(inside, node, name) and _reach(parts, graph):
                yield CarriedState(name, scope.place(node), scope.seen.statement, 0 if is_tensor(value) else len(parts))
        call = node.value if isinstance(node, ast.Expr) else None  # states.append(h), and states[-1] somewhere
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append":
            appended = ast.unparse(call.func.value)
            entries = (part for other in inside for part in ast.walk(other) if isinstance(part, ast.Subscript))
            is_read = any(ast.unparse(part.value) == appended for part in entries)
            if is_read and _reach(graph_parts(scope.named(appended))[-1:], graph):
                yield CarriedState(appended, scope.place(node), scope.place(node))


def _reach(parts: list[Any], graph: set[Node]) -> bool:
    return any(node in graph for part in parts for node in graph_of(part))


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


def _in_objects(crash: LiveCrash, graph: set[Node]) -> Iterator[CarriedState]:
    """An attribute that a method of its object both reads and writes: a module's state, a trainer's."""
    owners = [seen.locals.get("self") for seen in crash.user_frames]
    others = [("", owner) for owner in owners if not is_a(owner, nn.Module) and hasattr(type(owner), "__dict__")]
    for path, owner in (*named_modules(crash), *others):
        for name, parts in kept_graphs(owner, graph):
            source = class_source(type(owner))
            method, node = _keeping(source[1], f"self.{name}") if source else (None, None)
            if source is None or method is None or node is None or is_cached(method, node, f"self.{name}"):
                continue
            place = statement_place(source[0], node.lineno, path or None)
            # the backward's own line, where it stands in the method that keeps the state
            behind = (seen for seen in crash.user_frames if seen.file == source[0] and covers(method, seen.line))
            line = next(behind, None)
            yield CarriedState(
                f"self.{name}", place, line.statement if line is not None else place,
                0 if is_tensor(vars(owner)[name]) else len(parts), in_module=is_a(owner, nn.Module),
            )  # fmt: skip


def kept_graphs(owner: Any, graph: set[Node]) -> Iterator[tuple[str, list[Any]]]:
    """The attributes that hold tensors of the graph."""
    for name, value in list(getattr(owner, "__dict__", {}).items()):
        parts = graph_parts(value)
        if _reach(parts, graph):
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
