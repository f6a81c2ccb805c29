"""Why a graph was asked for gradients that an earlier backward had freed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_scene import (
    Node,
    backward_roots,
    graph_of,
    leaves_of,
    optimizers_of,
    scopes,
)
from torch_debugger.probes.examiners.carried_state import find_carried
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import Scope, assigned, calls_in, covers, names_read
from torch_debugger.records import Place
from torch_debugger.records.evidence.autograd import FreedGraph


def examine_freed(scene: Scene) -> FreedGraph | None:
    roots = backward_roots(scene)
    for scope in scopes(scene) if roots else ():
        call = _backward_call(scope)
        if call is not None:
            return _freed(scene, scope, call, roots[0])
    return None


def _freed(scene: Scene, scope: Scope, call: ast.Call, root: Any) -> FreedGraph | None:
    name = ast.unparse(_loss_of(call))
    return (
        _accumulated(scope, name)
        or _again(scope, call, name)
        or _shared(scene, scope, call, root)
        or _carried(scene)
        or _made_before(scope, name, set(graph_of(root)))
    )


def _backward_call(scope: Scope) -> ast.Call | None:
    """The call of backward() or grad() on the frame's line."""
    lines = [node for node in scope.statements() if covers(node, scope.line) and not hasattr(node, "body")]
    calls = [call for node in lines for call in calls_in(node) if _is_backward(call)]
    return calls[-1] if calls else None


def _is_backward(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "grad", "manual_backward")


def _loss_of(call: ast.Call) -> ast.expr:
    """`loss` of loss.backward(), torch.autograd.grad(loss, w), accelerator.backward(loss)"""
    assert isinstance(call.func, ast.Attribute)
    owner = call.func.value
    given = call.args[0] if call.args and (call.func.attr != "backward" or _is_wrapped(owner)) else owner
    while isinstance(given, ast.Call) and given.args and isinstance(given.func, ast.Attribute):
        if given.func.attr != "scale":  # scaler.scale(loss).backward()
            break
        given = given.args[0]
    return given


def _is_wrapped(owner: ast.expr) -> bool:
    return ast.unparse(owner) in (
        "accelerator",
        "self.accelerator",
        "fabric",
        "self",
        "torch.autograd",
        "autograd",
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


def _earlier(scope: Scope, call: ast.Call) -> list[ast.Call]:
    """Other backward calls of the function above this one, and further down in a loop around it."""
    loops = scope.loops()
    found = [other for node in scope.statements() if not hasattr(node, "body") for other in calls_in(node)]
    others = [other for other in found if _is_backward(other) and other is not call]
    above = [other for other in others if other.lineno <= call.lineno]
    below = [
        other for other in others if other.lineno > call.lineno and any(covers(x, other.lineno) for x in loops)
    ]
    return above[::-1] + below[::-1]


def _again(scope: Scope, call: ast.Call, name: str) -> FreedGraph | None:
    made = scope.assignment_before(name, call.lineno)
    start = made.lineno if made is not None else 0
    for other in _earlier(scope, call):
        if ast.unparse(_loss_of(other)) == name and start <= other.lineno <= call.lineno:
            return FreedGraph("again", name, _place(scope, made), scope.place(other))
    loop = next(iter(scope.loops()), None)
    if made is not None and loop is not None and not covers(loop, made.lineno):
        return FreedGraph("repeated", name, _place(scope, made), Place())
    return None


def _place(scope: Scope, node: ast.AST | None) -> Place:
    return scope.place(node) if node is not None else Place()


def _shared(scene: Scene, scope: Scope, call: ast.Call, root: Any) -> FreedGraph | None:
    """Another loss was backpropagated before, and its graph and this one have nodes in common."""
    graph = set(graph_of(root))
    for other in _earlier(scope, call):
        loss = scope.held(_loss_of(other))
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
                ast.unparse(_loss_of(other)),
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
    return best[1], _place(scope, node)


def _steps_between(scene: Scene, scope: Scope, first: ast.Call, second: ast.Call) -> list[Any]:
    """The optimizers that step between two lines."""
    calls = [call for call in calls_in(scope.function) if first.lineno <= call.lineno <= second.lineno]
    steps = [
        call.func.value for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "step"
    ]
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
    return _place(scope, readers[-1] if readers else None)


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


def _above(scope: Scope, loop: ast.stmt | None) -> Iterator[ast.stmt]:
    for node in reversed(scope.statements()):
        if loop is not None and node.lineno < loop.lineno:
            yield node
