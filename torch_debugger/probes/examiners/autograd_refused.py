"""A tensor that torch would not write into, turn into an array, copy, or send to another process."""

from __future__ import annotations

import ast
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import covers
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.probes.crash_frames import describe, is_tensor
from torch_debugger.probes.examiners.autograd_scene import scopes
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.source_writes import owners_of, writes_in
from torch_debugger.probes.examiners.user_scope import Scope, calls_in, statement_place
from torch_debugger.records import LocalTensor, Place
from torch_debugger.records.evidence.autograd import RefusedTensor

_FRAMES = {  # torch's function that refuses: the tensor's name in it, and what was asked
    "__array__": ("self", "numpy"),
    "__deepcopy__": ("self", "deepcopy"),
    "reduce_tensor": ("tensor", "process"),
}
_WRITING = (
    "is being used in an in-place operation",
    "is a view and is being modified inplace",
    "view was created in no_grad mode and is being modified inplace",
    "Inplace update to inference tensor",
)


def examine_refused(scene: Scene, message: str) -> RefusedTensor | None:
    last, user = scene.innermost, scopes(scene)
    if last is None or not user:
        return None
    if last.function in _FRAMES and not last.user:
        name, asked = _FRAMES[last.function]
        return _told(user[0], last.frame.f_locals.get(name), asked)
    if any(part in message for part in _WRITING):
        return _written(user[0])
    return _to_numpy(user[0]) if "numpy() on Tensor that requires grad" in message else None


def _statement(scope: Scope) -> list[ast.stmt]:
    return [node for node in scope.statements() if covers(node, scope.line) and not hasattr(node, "body")]


def _written(scope: Scope) -> RefusedTensor | None:
    for write in (write for node in _statement(scope) for write in writes_in(node)):
        for owner in owners_of(write.target):
            value = scope.held(owner)
            if is_tensor(value):
                return _made(value, ast.unparse(owner), "write", _assigned(scope, owner))
    return None


def _assigned(scope: Scope, node: ast.expr) -> Place:
    made = scope.assignment_before(ast.unparse(node), scope.line)
    return scope.place(made) if made is not None else Place()


def _made(value: Any, name: str, asked: str, made: Place, holder: str = "") -> RefusedTensor | None:
    fact = describe(name, value)
    if fact is None:
        return None
    return RefusedTensor(fact, asked, holder, made, bool(value.is_inference()), value._base is not None)


def _to_numpy(scope: Scope) -> RefusedTensor | None:
    """The operand of `.numpy()`: a variable that requires grad, or something made of one."""
    for call in (call for node in _statement(scope) for call in calls_in(node)):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "numpy":
            continue
        for owner in owners_of(call.func.value):
            value = scope.held(owner)
            if is_tensor(value) and value.requires_grad:
                return _made(value, ast.unparse(call.func.value), "numpy", _assigned(scope, owner))
            if isinstance(owner, ast.Call) and _is_trained(scope.held(owner.func)):
                fact = LocalTensor(ast.unparse(call.func.value), (), "", "", True, is_leaf=False)
                return RefusedTensor(fact, "numpy")
    return None


def _is_trained(module: Any) -> bool:
    return is_a(module, nn.Module) and any(item.requires_grad for item in module.parameters())


def _told(scope: Scope, value: Any, asked: str) -> RefusedTensor | None:
    """By the expression of the user's line that is the tensor, or holds it."""
    if not is_tensor(value):
        return None
    for node in _statement(scope):
        for part in (part for part in ast.walk(node) if isinstance(part, ast.expr)):
            held = scope.held(part)
            if held is value:
                return _made(value, ast.unparse(part), asked, _assigned(scope, part))
            if is_one_of(held, (list, tuple, dict)) and _holds(held, value):
                return _made(value, "", asked, _filled(scope, ast.unparse(part)), ast.unparse(part))
            if issubclass(type(held), nn.Module):
                kept = _kept_by(held, value)
                if kept is not None:
                    path = f"{ast.unparse(part)}.{kept[0]}"
                    return _made(value, path, asked, kept[1], path)
    return _made(value, "", asked, Place())


def _holds(held: Any, value: Any) -> bool:
    items = held.values() if type(held) is dict else held
    return any(
        item is value or (is_one_of(item, (list, tuple, dict)) and _holds(item, value)) for item in items
    )


def _filled(scope: Scope, name: str) -> Place:
    """The statement that appends to a list, or that assigns into a dict, else the one that makes it."""
    for node in scope.statements():
        calls = [ast.unparse(call.func) for call in calls_in(node)] if not hasattr(node, "body") else []
        if f"{name}.append" in calls:
            return scope.place(node)
    return _assigned(scope, ast.parse(name, mode="eval").body)


def _kept_by(module: nn.Module, value: Any) -> tuple[str, Place] | None:
    """The attribute of a module that holds the tensor, and the line that fills it."""
    for path, part in module.named_modules():
        for name, held in list(vars(part).items()):
            if held is value:
                place = attribute_place(type(part), name) or Place()
                whole = statement_place(place.file, place.line, path) if place.file and place.line else place
                return f"{path}.{name}".lstrip("."), whole
    return None
