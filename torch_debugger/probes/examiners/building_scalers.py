"""A GradScaler that was called in the wrong order or on the wrong things: read from its own bookkeeping."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.naming import name_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.calls_in_files import calls_in, user_files
from torch_debugger.probes.examiners.reading import value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import statement_place
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import ScalerRefusal


def examine_scaler(scene: Scene) -> ScalerRefusal | None:
    user, called = scene.user_frame, _called(scene)
    if user is None or called is None:
        return None
    scaler, optimizer = called.frame.f_locals["self"], called.frame.f_locals.get("optimizer")
    fault = _fault(scene.error, called, scaler, optimizer)
    if fault is None:
        return None
    name = name_of(scaler, user.frame) or "scaler"
    return ScalerRefusal(
        fault=fault,
        method=called.function,
        scaler=name,
        optimizer=name_of(optimizer, user.frame) or "optimizer" if optimizer is not None else "",
        updated=any(_owner(call).endswith(name) for _, call in calls_in(user_files(scene.frames), "update")),
        place=_place(scene, user, fault, name),
    )


def _called(scene: Scene) -> Seen | None:
    """The method of the scaler that the user's line calls."""
    found: Seen | None = None
    for seen in reversed(scene.frames):
        if seen.user:
            return found
        if seen.file.endswith("grad_scaler.py") and is_a(seen.frame.f_locals.get("self"), torch.amp.GradScaler):
            found = seen
    return None


def _fault(error: BaseException, called: Seen, scaler: Any, optimizer: Any) -> str | None:
    if isinstance(error, AssertionError) and scaler._scale is None:
        return "nothing scaled"
    states = scaler._per_optimizer_states
    state = states.get(id(optimizer), {})
    stage = getattr(state.get("stage"), "name", "READY")
    if isinstance(error, RuntimeError) and (called.function, stage) in _ORDER:
        return _ORDER[called.function, stage]
    if isinstance(error, ValueError) and any(g.dtype is torch.float16 for g in _gradients(optimizer)):
        return "half gradients"
    if isinstance(error, AssertionError) and called.function == "step" and not list(_gradients(optimizer)):
        return "no gradients"
    if isinstance(error, AssertionError) and called.function == "update":
        return None if any(each["found_inf_per_device"] for each in states.values()) else "not stepped"
    return None


_ORDER = {
    ("unscale_", "UNSCALED"): "unscaled twice",
    ("unscale_", "STEPPED"): "unscaled after step",
    ("step", "STEPPED"): "not updated",
}


def _gradients(optimizer: Any) -> Iterator[torch.Tensor]:
    groups = optimizer.param_groups if is_a(optimizer, torch.optim.Optimizer) else ()
    return (p.grad for group in groups for p in group["params"] if p.grad is not None)


def _place(scene: Scene, user: Seen, fault: str, scaler: str) -> Place:
    """The other line that matters, where there is only one it can be."""
    files = user_files(scene.frames)
    if fault == "nothing scaled":
        found = [place for place, call in calls_in(files, "backward") if not call.args]
    elif fault == "not stepped":
        steps = calls_in(files, "step")
        found = [place for place, call in steps if is_a(_held(user, call), torch.optim.Optimizer)]
    elif fault == "unscaled twice":
        others = calls_in(files, "unscale_")
        found = [place for place, _ in others if (place.file, place.line) != (user.file, user.line)]
    else:
        return Place()
    return statement_place(found[0].file or "", found[0].line or 0) if len(found) == 1 else Place()


def _held(user: Seen, call: ast.Call) -> Any:
    return value_of(user, call.func.value) if isinstance(call.func, ast.Attribute) else None


def _owner(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
