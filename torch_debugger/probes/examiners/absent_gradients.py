"""Why a tensor's `.grad` is None: by the tensor, its model's other gradients, and the lines around."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.freezing import freezes
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import class_source
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import Scope, calls_in
from torch_debugger.records import Place
from torch_debugger.records.evidence.absent_values import AbsentValue

_TOLD = 6


def of_gradient(scene: Scene, seen: Seen, found: AbsentValue, tensor: torch.Tensor) -> AbsentValue:
    if tensor.grad_fn is not None:
        return dataclasses.replace(found, reason="not-a-leaf")
    home = _home_of(scene, tensor)
    if home is None:
        scope = Scope(seen)
        cleared, ran = _before(scope)
        reason = "not-recorded" if not tensor.requires_grad else "cleared" if cleared.file else "unused"
        return dataclasses.replace(
            found, reason=reason if ran or reason != "unused" else "before", cause=cleared
        )
    root, model, path = home
    named = list(model.named_parameters())
    without = [name for name, each in named if each.requires_grad and each.grad is None]
    told = dataclasses.replace(
        found,
        parameter=f"{root}.{path}",
        others=tuple(f"{root}.{name}" for name in without if name != path)[:_TOLD],
        count=sum(each.requires_grad for _, each in named),
    )
    if not tensor.requires_grad:
        return dataclasses.replace(told, reason="frozen", cause=_freezing(scene))
    if len(without) < told.count:
        return dataclasses.replace(told, reason="unused", mentioned=_is_mentioned(model, path))
    cleared, _ = _before(Scope(seen))
    outer = next((_before(Scope(each)) for each in _outside(scene, seen)), (Place(), False))
    cleared = cleared if cleared.file else outer[0]
    return dataclasses.replace(told, reason="cleared" if cleared.file else "before", cause=cleared)


def _outside(scene: Scene, seen: Seen) -> Iterator[Seen]:
    index = next((at for at, frame in enumerate(scene.frames) if frame is seen), 0)
    yield from (frame for frame in reversed(scene.frames[:index]) if frame.user)


def _home_of(scene: Scene, tensor: torch.Tensor) -> tuple[str, nn.Module, str] | None:
    """The user's name of a model, the model, and the path of the parameter in it; the largest model wins."""
    known: dict[int, tuple[str, nn.Module]] = {}
    for name, model in _modules(scene):
        known.setdefault(id(model), (name, model))
    homes = [
        (name, model, path)
        for name, model in known.values()
        for path, parameter in model.named_parameters()
        if parameter is tensor
    ]
    return max(homes, key=lambda home: len(list(home[1].parameters())), default=None)


def _modules(scene: Scene) -> Iterator[tuple[str, nn.Module]]:
    yield from scene.running.models.items()
    for seen in reversed(scene.frames):
        if seen.user:
            held: dict[str, Any] = {**seen.frame.f_globals, **seen.frame.f_locals}
            yield from ((name, value) for name, value in held.items() if is_a(value, nn.Module))


def _before(scope: Scope) -> tuple[Place, bool]:
    """The last `zero_grad` above the line with no backward in between; and whether a backward stands above."""
    cleared, ran = Place(), False
    loops = scope.loops()
    first = loops[0].lineno if loops else 0
    for node in scope.statements():
        if not first <= node.lineno <= scope.line or hasattr(node, "body"):
            continue
        for call in calls_in(node):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name == "backward":
                cleared, ran = Place(), True
            elif name == "zero_grad" and ran:
                cleared = scope.place(node)
    return cleared, ran


def _freezing(scene: Scene) -> Place:
    """The line that says requires_grad = False, where there is but one."""
    found: list[Place] = []
    for seen in scene.frames:
        if seen.user:
            scope = Scope(seen)
            found += [scope.place(node) for node in scope.statements() if _freezes(node)]
    lines = {(place.file, place.line): place for place in found}
    return next(iter(lines.values())) if len(lines) == 1 else Place()


def _freezes(node: ast.stmt) -> bool:
    return any(map(freezes, [node, *(calls_in(node) if isinstance(node, ast.Expr) else [])]))


def _is_mentioned(model: nn.Module, path: str) -> bool:
    """Whether the class that owns the first part of the path names it outside of __init__."""
    first = path.partition(".")[0]
    source = class_source(type(model))
    if source is None:
        return True
    for function in ast.walk(source[1]):
        if isinstance(function, ast.FunctionDef) and function.name != "__init__":
            named = (node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute))
            if first in named:
                return True
    return False
