"""Learning rate schedulers that refused what they were given or asked."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import tree_of
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.loop_lengths import (
    argument_made,
    counted_loops,
    frame_around,
    name_in,
)
from torch_debugger.probes.examiners.reading import UNKNOWN, calls_in, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import statement_place
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import SchedulerRefusal

_SCHEDULER = (lr_scheduler.LRScheduler, lr_scheduler.ReduceLROnPlateau)


def examine_scheduler(scene: Scene) -> SchedulerRefusal | None:
    user = scene.user_frame
    inner = scene.innermost
    if user is None or inner is None:
        return None
    if inner is user:
        return _unbound_call(user) if isinstance(scene.error, TypeError) else None
    scheduler = _scheduler(scene)
    if scheduler is None:
        return None
    fact = _refused(scene, user, scheduler)
    return (
        dataclasses.replace(fact, optimizer=_name_of(user, torch.optim.Optimizer)) if fact is not None else None
    )


def _scheduler(scene: Scene) -> Any:
    """The scheduler whose method the frames behind the user's line run."""
    for seen in reversed(scene.frames):
        if seen.user:
            return None
        held = seen.frame.f_locals.get("self")
        if is_a(held, _SCHEDULER) and seen.file.endswith("lr_scheduler.py"):
            return held
    return None


def _refused(scene: Scene, user: Seen, scheduler: Any) -> SchedulerRefusal | None:
    kind = type(scheduler).__name__
    building = next((seen for seen in scene.frames if seen.function == "__init__" and not seen.user), None)
    if building is None:
        return _refused_step(scene, user, scheduler, kind)
    held = building.frame.f_locals
    given = held.get("optimizer")
    if not is_a(given, torch.optim.Optimizer):
        return SchedulerRefusal(kind, "no optimizer", kind_name(type(given)).rpartition(".")[2])
    if (
        isinstance(scene.error, KeyError)
        and "initial_lr" in str(scene.error)
        and is_a(held.get("last_epoch"), int)
    ):
        return SchedulerRefusal(kind, "last epoch", numbers={"last_epoch": held["last_epoch"]})
    return _wrong_argument(user, kind, held, given)


def _wrong_argument(
    user: Seen, kind: str, held: dict[str, Any], optimizer: torch.optim.Optimizer
) -> SchedulerRefusal | None:
    milestones, gamma = held.get("milestones"), held.get("gamma")
    if kind == "MultiStepLR" and is_a(milestones, (int, float)):
        numbers = {"milestone": int(milestones)} | ({"second": gamma} if type(gamma) is int else {})
        return SchedulerRefusal(kind, "milestones", repr(milestones), numbers=numbers)
    if kind == "ReduceLROnPlateau" and held.get("mode") not in ("min", "max"):
        return SchedulerRefusal(kind, "mode", repr(held.get("mode")))
    if kind == "SequentialLR":
        return _wrong_sequence(kind, held, optimizer)
    return _wrong_functions(kind, held.get("lr_lambda"), optimizer) or _wrong_length(user, kind, held)


def _wrong_functions(kind: str, given: Any, optimizer: torch.optim.Optimizer) -> SchedulerRefusal | None:
    groups = len(optimizer.param_groups)
    if is_one_of(given, (list, tuple)) and len(given) != groups:
        return SchedulerRefusal(kind, "lambdas", numbers={"functions": len(given), "groups": groups})
    return SchedulerRefusal(kind, "factor", repr(given)) if is_a(given, (int, float)) else None


def _wrong_sequence(
    kind: str, held: dict[str, Any], optimizer: torch.optim.Optimizer
) -> SchedulerRefusal | None:
    schedulers, milestones = held.get("schedulers"), held.get("milestones")
    if not is_a(schedulers, (list, tuple)):
        return None
    for index, item in enumerate(schedulers):
        if is_a(item, _SCHEDULER) and item.optimizer is not optimizer:
            return SchedulerRefusal(kind, "stranger", type(item).__name__, numbers={"index": index})
    if is_a(milestones, (list, tuple)) and len(schedulers) != len(milestones) + 1:
        numbers = {"schedulers": len(schedulers), "milestones": len(milestones)}
        return SchedulerRefusal(kind, "count", numbers=numbers)
    return None


def _wrong_length(user: Seen, kind: str, held: dict[str, Any]) -> SchedulerRefusal | None:
    """OneCycleLR without a length, or one that is no whole number."""
    for name in ("steps_per_epoch", "epochs", "total_steps", "T_0"):
        if is_a(held.get(name), float):
            return SchedulerRefusal(kind, "whole number", f"{name}={held[name]!r}")
    lengths = (held.get("epochs"), held.get("steps_per_epoch"))
    if kind == "OneCycleLR" and held.get("total_steps") is None and None in lengths:
        return SchedulerRefusal(kind, "no length", _name_of(user, DataLoader), numbers=_lengths(user))
    return None


def _refused_step(scene: Scene, user: Seen, scheduler: Any, kind: str) -> SchedulerRefusal | None:
    held = vars(scheduler)
    if kind == "OneCycleLR" and held.get("last_epoch", 0) >= held.get("total_steps", float("inf")):
        return _too_many_steps(scene, user, scheduler)
    metrics = next(
        (seen.frame.f_locals["metrics"] for seen in scene.frames if "metrics" in seen.frame.f_locals), UNKNOWN
    )
    if kind == "ReduceLROnPlateau" and metrics is not UNKNOWN and is_one_of(metrics, (list, tuple, dict)):
        return SchedulerRefusal(kind, "metrics", type(metrics).__name__)
    if held.get("step_size") == 0:
        return SchedulerRefusal(kind, "step size", place=_built_at(user, scheduler))
    return None


def _too_many_steps(scene: Scene, user: Seen, scheduler: Any) -> SchedulerRefusal:
    place = _built_at(user, scheduler)
    counted, loader = counted_loops(scene)
    building = frame_around(scene, place)
    return SchedulerRefusal(
        type(scheduler).__name__,
        "too many steps",
        name_in(building, loader) if loader is not None else _name_of(user, DataLoader),
        numbers={"total_steps": int(scheduler.total_steps), **_lengths(user), **counted},
        place=place,
        counted=argument_made(building, place, ("total_steps", "steps_per_epoch")),
    )


def _lengths(user: Seen) -> dict[str, int]:
    """Numbers in reach that tell how often a scheduler is stepped: batches of a loader, epochs."""
    found: dict[str, int] = {}
    for name, value in {**user.frame.f_globals, **user.frame.f_locals}.items():
        if is_a(value, DataLoader) and "batches" not in found:
            found["batches"] = len(value)
        elif type(value) is int and "epochs" in name.lower():
            found["epochs"] = value
    return found


def _name_of(user: Seen, kind: type) -> str:
    names = {**user.frame.f_globals, **user.frame.f_locals}
    found = [name for name, value in names.items() if is_a(value, kind) and not name.startswith("_")]
    return min(found, key=lambda name: "train" not in name, default="")


def _built_at(user: Seen, scheduler: Any) -> Place:
    """The only line of the file that builds a scheduler of this class."""
    tree = tree_of(user.file)
    lines = [
        node.lineno
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == type(scheduler).__name__
    ]
    return statement_place(user.file, lines[0]) if len(lines) == 1 else Place()


def _unbound_call(user: Seen) -> SchedulerRefusal | None:
    """A call that Python could not bind: an argument of the constructor or of step() is missing."""
    for call in calls_in(user):
        held = value_of(user, call.func)
        if is_a(held, type) and issubclass(held, _SCHEDULER) and (missing := _missing(held, call)):
            optimizer = _name_of(user, torch.optim.Optimizer)
            return SchedulerRefusal(held.__name__, "missing", missing[0], optimizer, _lengths(user))
        owner = value_of(user, call.func.value) if isinstance(call.func, ast.Attribute) else UNKNOWN
        if is_a(owner, _SCHEDULER) and getattr(call.func, "attr", "") == "step":
            return _unbound_step(user, call, owner)
    return None


def _missing(cls: type, call: ast.Call) -> list[str]:
    """Arguments without a default that the call does not give; none where it gives unknown ones."""
    parameters = list(inspect.signature(cls).parameters.values())
    named = {str(word.arg) for word in call.keywords}
    if named - {item.name for item in parameters}:
        return []
    rest = parameters[len(call.args) :]
    return [item.name for item in rest if item.default is item.empty and item.name not in named]


def _unbound_step(user: Seen, call: ast.Call, owner: Any) -> SchedulerRefusal | None:
    kind = type(owner).__name__
    if is_a(owner, lr_scheduler.ReduceLROnPlateau) and not call.args and not call.keywords:
        return SchedulerRefusal(kind, "no metric", next(_metrics(user), ""))
    if not is_a(owner, lr_scheduler.ReduceLROnPlateau) and len(call.args) + len(call.keywords) > 1:
        return SchedulerRefusal(kind, "step arguments", numbers={"given": len(call.args) + len(call.keywords)})
    return None


def _metrics(user: Seen) -> Iterator[str]:
    """Names that hold one number and are called a loss, those of a validation first."""
    names = {**user.frame.f_globals, **user.frame.f_locals}
    losses = [
        name
        for name, value in names.items()
        if "loss" in name.lower() and (type(value) is float or (is_tensor(value) and value.numel() == 1))
    ]
    yield from sorted(losses, key=lambda name: "val" not in name.lower() and "test" not in name.lower())
