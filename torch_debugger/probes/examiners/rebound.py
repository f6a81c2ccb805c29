"""Weights updated by hand into new tensors: `w = w - lr * w.grad` leaves the trained tensor behind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a, is_one_of, name_of_class
from torch_debugger.anatomy.sources import covers, tree_of
from torch_debugger.probes.crash_frames import attribute, is_tensor
from torch_debugger.probes.examiners.autograd_scene import op_name, scopes
from torch_debugger.probes.examiners.cut_replay import switch_around
from torch_debugger.probes.examiners.rebound_source import (
    Rebind,
    asks_gradient,
    clears_gradients,
    in_place,
    rebinds_in,
)
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import Scope, statement_place
from torch_debugger.records.evidence.autograd import Rebinding

_OPERATORS = {ast.Sub: "Sub", ast.Add: "Add"}


def examine_rebound(scene: Scene, gradient_missed: bool) -> tuple[Rebinding, ...]:
    """Every update that gave a name a new tensor; where a gradient was None, one of them must be its cause."""
    updates = list(_all(scene))
    found = [rebind for rebind in updates if _is_left_behind(rebind)]
    if not found or (gradient_missed and not _missed(scene, found)):
        return ()
    # b = b - lr * b.grad is next, when `w` already failed
    coming = [rebind for rebind in updates if rebind not in found and _will_be_left(rebind)]
    return tuple(_told(rebind) for rebind in (*found, *coming))


def _all(scene: Scene) -> Iterator[Rebind]:
    """Those of the functions under way, then those of methods whose object is at hand."""
    seen: set[tuple[str, int, str]] = set()
    for rebind in (*_of_frames(scene), *_of_methods(scene)):
        key = (rebind.file, rebind.node.lineno, rebind.name)
        if key not in seen:
            seen.add(key)
            yield rebind


def _of_frames(scene: Scene) -> Iterator[Rebind]:
    for scope in scopes(scene):
        yield from rebinds_in(scope.statements(), scope.file, scope.held)


def _of_methods(scene: Scene) -> Iterator[Rebind]:
    objects = {name_of_class(type(value)): value for scope in scopes(scene) for value in _held(scope)}
    for file in dict.fromkeys(scope.file for scope in scopes(scene)):
        tree = tree_of(file)
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] if tree else []
        for node in classes:
            if node.name in objects:
                statements = [part for part in ast.walk(node) if isinstance(part, ast.stmt)]
                yield from rebinds_in(statements, file, _as_self(objects[node.name]))


def _held(scope: Scope) -> list[Any]:
    frame = scope.seen.frame
    return [*list(frame.f_globals.values()), *list(frame.f_locals.values())]


def _as_self(owner: Any) -> Callable[[ast.expr], Any]:
    def held(node: ast.expr) -> Any:
        mine = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"
        return attribute(owner, node.attr) if mine and isinstance(node, ast.Attribute) else None

    return held


def _is_left_behind(rebind: Rebind) -> bool:
    """Whether what the name holds now is the update's result, and no gradient will come to it."""
    tensors = [item for item in _tensors(rebind.held) if item.is_floating_point()]
    plain = [item for item in tensors if not item.requires_grad]
    if plain and len(plain) == len(tensors):
        return rebind.reads_gradient or any(asks_gradient(node) for node in rebind.makers)
    operator = next((name for kind, name in _OPERATORS.items() if is_a(rebind.operator, kind)), "")
    made = [item for item in tensors if item.grad_fn is not None and op_name(item.grad_fn) == operator]
    return bool(made) and rebind.reads_gradient and not any(_computes(node) for node in rebind.makers)


def _will_be_left(rebind: Rebind) -> bool:
    tensors = _tensors(rebind.held)
    return rebind.reads_gradient and bool(tensors) and all(item.is_leaf for item in tensors)


def _computes(maker: ast.stmt) -> bool:
    """w = torch.randn(3, requires_grad=True) + 1 was no leaf from the start."""
    return isinstance(getattr(maker, "value", None), ast.BinOp)


def _tensors(value: Any) -> list[torch.Tensor]:
    items = (
        list(value.values()) if type(value) is dict else value if is_one_of(value, (list, tuple)) else [value]
    )
    return [item for item in items if is_tensor(item)]


def _missed(scene: Scene, found: list[Rebind]) -> bool:
    """Whether the failing line reads the gradient of a tensor that an update made."""
    scope = next(iter(scopes(scene)), None)
    lines = [node for node in scope.statements() if covers(node, scope.line)] if scope is not None else []
    lines = [node for node in lines if not hasattr(node, "body")]
    made = [item for rebind in found for item in _tensors(rebind.held)]
    for part in ast.walk(lines[-1]) if scope is not None and lines else ():
        if isinstance(part, ast.Attribute) and part.attr == "grad":
            owner = scope.held(part.value) if scope is not None else None
            named = [rebind.name for rebind in found]
            if ast.unparse(part.value) in named or any(owner is item for item in made):
                return True
    return False


def _told(rebind: Rebind) -> Rebinding:
    place = statement_place(rebind.file, rebind.node.lineno)
    return Rebinding(
        rebind.name,
        place,
        in_place(rebind, place.code or ""),
        recorded=any(item.grad_fn is not None for item in _tensors(rebind.held)),
        switched_off=switch_around(rebind.file, rebind.node.lineno) is not None,
        cleared=clears_gradients(rebind.file),
    )
