"""Parameters that changed between forward and backward: by an optimizer's step, or by the user's own update."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import covers, is_user_file, nodes_of, tree_of
from torch_debugger.probes.examiners.autograd_scene import (
    backward_roots,
    named_parameters,
    optimizers_of,
    scopes,
)
from torch_debugger.probes.examiners.carried_state import find_carried
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.source_writes import writes_in
from torch_debugger.probes.examiners.user_scope import Scope, calls_in, statement_place
from torch_debugger.records import Place
from torch_debugger.records.evidence.autograd import InPlaceWrite, Overwritten

_TRANSPOSED = ("", "T", "Transpose", "AsStrided", "Permute", "View", "ReshapeAlias", "Expand", "Unsqueeze")


def find_steps(scene: Scene, victim: Overwritten) -> Overwritten | None:
    """The victim is a parameter at the very version that torch complains of, and a line changed it."""
    if victim.maker not in _TRANSPOSED:
        return None
    for name, parameter in _parameters(scene):
        if parameter._version == victim.version and _same_form(tuple(parameter.shape), victim.shape):
            found = (
                _loaded(scene, parameter) or _called_between(scene) or _step(scene, parameter) or _update(scene)
            )
            if found is not None:
                by, write = found
                return dataclasses.replace(
                    victim,
                    by=by,
                    writes=(write,),
                    parameter=name,
                    loss_made=loss_made(scene),
                    carried=find_carried(scene) if _in_last_round(scene, write.place) else None,
                )
    return None


def _same_form(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return shape == other or shape[::-1] == other or sorted(shape) == sorted(other)


def _parameters(scene: Scene) -> Iterator[tuple[str, torch.Tensor]]:
    yield from named_parameters(scene)
    for scope in scopes(scene):
        held = list(scope.seen.frame.f_locals.items())
        yield from ((name, value) for name, value in held if type(value) is torch.Tensor and _is_weight(value))


def _is_weight(tensor: torch.Tensor) -> bool:
    return tensor.is_leaf and tensor.requires_grad


def _loaded(scene: Scene, parameter: torch.Tensor) -> tuple[str, InPlaceWrite] | None:
    """model.load_state_dict(...) between the line that made the loss and the backward."""
    made = loss_made(scene).line or 0
    for scope in scopes(scene):
        for call in calls_in(scope.function):
            loads = isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict"
            if loads and made < call.lineno < scope.line:
                model = scope.held(_owner(call)[0])
                held = model.parameters() if is_a(model, nn.Module) else ()
                if any(item is parameter for item in held):
                    return "step", InPlaceWrite(scope.place(call), "load_state_dict")
    return None


def _called_between(scene: Scene) -> tuple[str, InPlaceWrite] | None:
    """A function of the user's that writes without gradients, called after the loss was made: constrain(net)"""
    made = loss_made(scene)
    for scope in scopes(scene)[:1] if made.line is not None else ():
        for call in calls_in(scope.function):
            if (made.line or 0) < call.lineno < scope.line and _writes_unseen(_callee(scope, call)):
                return "update", InPlaceWrite(scope.place(call), ast.unparse(call.func))
    return None


def _callee(scope: Scope, call: ast.Call) -> Any:
    """A function, or a method as its class has it; None where that is not known."""
    if not isinstance(call.func, ast.Attribute):
        return scope.held(call.func)
    owner = scope.held(call.func.value)
    return inspect.getattr_static(type(owner), call.func.attr, scope.held(call.func))


def _writes_unseen(function: Any) -> bool:
    """Weights can be written only where nobody records it: under no_grad, or by way of `.data`."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    tree = tree_of(code.co_filename) if code is not None and is_user_file(code.co_filename) else None
    if code is None or tree is None:
        return False
    body = next((node for node in nodes_of(tree) if _begins_at(node, code.co_firstlineno)), None)
    nodes = [node for node in ast.walk(body) if isinstance(node, ast.stmt)] if body is not None else []
    writes = [write for node in nodes for write in writes_in(node)]
    unrecorded = body is not None and "no_grad" in ast.unparse(body)
    return any(
        isinstance(write.node, ast.Expr) and (unrecorded or ".data" in ast.unparse(write.target))
        for write in writes
        if "grad" not in ast.unparse(write.target)
    )


def _begins_at(node: ast.AST, line: int) -> bool:
    """With its decorators, as code objects count it."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return min([node.lineno, *(mark.lineno for mark in node.decorator_list)]) == line


def _step(scene: Scene, parameter: torch.Tensor) -> tuple[str, InPlaceWrite] | None:
    for name, optimizer in optimizers_of(scene).items():
        held = (item for group in optimizer.param_groups for item in group["params"])
        if any(item is parameter for item in held):
            place = _step_call(scene, name, optimizer)
            if place is not None:
                return "step", InPlaceWrite(place, f"{name}.step", name)
    return None


def _step_call(scene: Scene, name: str, optimizer: Any) -> Place | None:
    """The line that steps this optimizer, in the functions under way; else the one of its name in a file."""
    passed: set[tuple[str, int]] = set()  # they have not run between the forward and here
    for scope in scopes(scene):
        calls = [call for call in calls_in(scope.function) if _steps(call, scope, optimizer)]
        above = [call for call in calls if call.lineno < scope.line]
        rounds = [call for call in calls if any(covers(loop, call.lineno) for loop in scope.loops())]
        if above or rounds:
            return scope.place((above or rounds)[-1])
        passed |= {(scope.file, call.lineno) for call in calls}
    for file in dict.fromkeys(scope.file for scope in scopes(scene)):
        tree = tree_of(file)
        calls = [call for call in calls_in(tree) if _is_step_of(call, name)] if tree is not None else []
        if len(calls) == 1 and (file, calls[0].lineno) not in passed:
            return statement_place(file, calls[0].lineno)
    return None


def _steps(call: ast.Call, scope: Scope, optimizer: Any) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return False
    given = [call.func.value, *call.args]
    return any(scope.held(item) is optimizer for item in given)


def _is_step_of(call: ast.Call, name: str) -> bool:
    words = [ast.unparse(item).rpartition(".")[2] for item in (*call.args, *_owner(call))]
    return isinstance(call.func, ast.Attribute) and call.func.attr == "step" and name in words


def _owner(call: ast.Call) -> list[ast.expr]:
    return [call.func.value] if isinstance(call.func, ast.Attribute) else []


def _update(scene: Scene) -> tuple[str, InPlaceWrite] | None:
    """The only statement under `no_grad` that writes: w -= lr * w.grad"""
    for scope in scopes(scene):
        blocks = [
            node for node in scope.statements() if isinstance(node, ast.With) and "no_grad" in _head(node)
        ]
        inside = [node for node in scope.statements() if any(covers(block, node.lineno) for block in blocks)]
        writes = [write for node in inside for write in writes_in(node)]
        kept = [write for write in writes if "grad" not in ast.unparse(write.target)]
        if kept:
            return "update", InPlaceWrite(
                scope.place(kept[0].node), kept[0].operation, ast.unparse(kept[0].target)
            )
    return None


def _head(block: ast.With) -> str:
    return " ".join(ast.unparse(item.context_expr) for item in block.items)


def loss_made(scene: Scene) -> Place:
    """The statement that made what backward was called on."""
    roots = backward_roots(scene)
    for scope in scopes(scene):
        for name, value in list(scope.seen.frame.f_locals.items()):
            if roots and value is roots[0]:
                node = scope.assignment_before(name, scope.line)
                return scope.place(node) if node is not None else Place()
    return Place()


def _in_last_round(scene: Scene, step: Place) -> bool:
    """Whether the step stands below the failing line in a loop around both: it ran one round earlier."""
    for scope in scopes(scene):
        if scope.file == step.file and step.line is not None and step.line > scope.line:
            return any(covers(loop, step.line) for loop in scope.loops())
    return False
