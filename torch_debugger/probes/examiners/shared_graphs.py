"""Two losses whose graphs have a part in common, each with a backward of its own."""

from __future__ import annotations

import ast
from typing import Any

from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_scene import Node, graph_of, leaves_of, optimizers_of
from torch_debugger.probes.examiners.backward_calls import earlier_calls, loss_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import Scope, assigned, calls_in, names_read
from torch_debugger.records import Place
from torch_debugger.records.evidence.autograd import FreedGraph


def find_shared(scene: Scene, scope: Scope, call: ast.Call, root: Any) -> FreedGraph | None:
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
    return scope.place_of(readers[-1] if readers else None)
