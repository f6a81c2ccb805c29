"""Why a graph was asked for gradients that an earlier backward had freed."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from torch import nn

from torch_debugger.crashes.autograd_graph import (
    Node,
    backward_call,
    backward_roots,
    earlier_calls,
    graph_of,
    leaves_of,
    loss_of,
    named_modules,
    optimizers_of,
    scopes,
)
from torch_debugger.crashes.frames import LiveCrash, is_tensor
from torch_debugger.crashes.functions import Scope, assigned, statement_place
from torch_debugger.records import Place
from torch_debugger.records.crash_autograd import CarriedState, FreedGraph
from torch_debugger.source.files import class_source, covers
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.syntax import calls_in, names_read


def examine_freed(scene: LiveCrash) -> FreedGraph | None:
    roots = backward_roots(scene)
    for scope in scopes(scene) if roots else ():
        call = backward_call(scope)
        if call is not None:
            return _freed(scene, scope, call, roots[0])
    return None


def _freed(scene: LiveCrash, scope: Scope, call: ast.Call, root: Any) -> FreedGraph | None:
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


def _carried(scene: LiveCrash) -> FreedGraph | None:
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


def _cached(scene: LiveCrash, graph: set[Node]) -> FreedGraph | None:
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


# Two losses whose graphs have a part in common, each with a backward of its own.
def find_shared(scene: LiveCrash, scope: Scope, call: ast.Call, root: Any) -> FreedGraph | None:
    """Another loss was backpropagated before, and its graph and this one have nodes in common."""
    graph = set(graph_of(root))
    for other in earlier_calls(scope, call):
        loss = scope.held(loss_of(other))
        common = graph & set(graph_of(loss)) if is_tensor(loss) and loss is not root else set()
        if common and other.lineno <= call.lineno:
            name, made = _common_variable(scope, common)
            between = _steps_between(scene, scope, other, call)
            foreign = bool(between) and _is_foreign(scope.named(name), between)
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
    for name, value in list(scope.seen.frame.f_locals.items()):
        if is_tensor(value) and value.grad_fn in common and scope.assignments(name):
            best = max(best, (len(graph_of(value)), name))
    node = scope.assignment_before(best[1], scope.line) if best[1] else None
    return best[1], scope.place_of(node)


def _steps_between(scene: LiveCrash, scope: Scope, first: ast.Call, second: ast.Call) -> list[Any]:
    """The optimizers that step between two lines."""
    calls = [call for call in calls_in(scope.function) if first.lineno <= call.lineno <= second.lineno]
    steps = [call.func.value for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "step"]
    held = [scope.held(owner) for owner in steps]
    return [optimizer for optimizer in optimizers_of(scene).values() if any(optimizer is item for item in held)]


def _is_foreign(value: Any, optimizers: list[Any]) -> bool:
    """Whether what made the tensor is trained by none of the optimizers: a GAN's fake, fed to the critic."""
    leaves = {id(leaf) for leaf in leaves_of(value)}
    trained = {id(item) for one in optimizers for group in one.param_groups for item in group["params"]}
    return bool(leaves) and not leaves & trained


def _feeding(scope: Scope, backward: ast.Call, name: str) -> Place:
    """The last statement above a backward call that gives the variable to something."""
    readers = [
        node
        for node in scope.statements()
        if node.lineno < backward.lineno and not hasattr(node, "body") and calls_in(node)
        and name in names_read(node) and name not in assigned(node)
    ]  # fmt: skip
    return scope.place_of(readers[-1] if readers else None)


# A tensor that ties one round of a loop to the graph of the round before: a hidden state, a running loss.
_PARTS = 8


def find_carried(scene: LiveCrash) -> CarriedState | None:
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


def _in_objects(scene: LiveCrash, graph: set[Node]) -> Iterator[CarriedState]:
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


def _objects(scene: LiveCrash) -> Iterator[tuple[str, Any]]:
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


def _behind(scene: LiveCrash, file: str, method: ast.FunctionDef) -> Place | None:
    """The backward's own line, where it stands in the method that keeps the state."""
    for scope in scopes(scene):
        if scope.file == file and covers(method, scope.line):
            return statement_place(file, scope.line)
    return None
