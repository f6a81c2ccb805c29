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

from torch_debugger.crashes.expressions import UNKNOWN, UnknownValueError, calls_on_line, computed_value, value_of
from torch_debugger.crashes.frames import LiveCrash, Seen, is_tensor, kind_name
from torch_debugger.crashes.functions import Scope, calls_in_files, statement_place, user_files
from torch_debugger.crashes.loading_dataloader import length_of
from torch_debugger.crashes.loading_samples import for_statements, loader_in
from torch_debugger.records import Place
from torch_debugger.records.crash_modules import ScalerRefusal, SchedulerRefusal
from torch_debugger.source.files import covers, tree_of
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.syntax import calls_in
from torch_debugger.source.variables import name_of

_SCHEDULER = (lr_scheduler.LRScheduler, lr_scheduler.ReduceLROnPlateau)


def examine_scheduler(scene: LiveCrash) -> SchedulerRefusal | None:
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
    return dataclasses.replace(fact, optimizer=_name_of(user, torch.optim.Optimizer)) if fact is not None else None


def _scheduler(scene: LiveCrash) -> Any:
    """The scheduler whose method the frames behind the user's line run."""
    for seen in reversed(scene.frames):
        if seen.user:
            return None
        held = seen.frame.f_locals.get("self")
        if is_a(held, _SCHEDULER) and seen.file.endswith("lr_scheduler.py"):
            return held
    return None


def _refused(scene: LiveCrash, user: Seen, scheduler: Any) -> SchedulerRefusal | None:
    kind = type(scheduler).__name__
    building = next((seen for seen in scene.frames if seen.function == "__init__" and not seen.user), None)
    if building is None:
        return _refused_step(scene, user, scheduler, kind)
    held = building.frame.f_locals
    given = held.get("optimizer")
    if not is_a(given, torch.optim.Optimizer):
        return SchedulerRefusal(kind, "no optimizer", kind_name(type(given)).rpartition(".")[2])
    if isinstance(scene.error, KeyError) and "initial_lr" in str(scene.error) and is_a(held.get("last_epoch"), int):
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


def _wrong_sequence(kind: str, held: dict[str, Any], optimizer: torch.optim.Optimizer) -> SchedulerRefusal | None:
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


def _refused_step(scene: LiveCrash, user: Seen, scheduler: Any, kind: str) -> SchedulerRefusal | None:
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


def _too_many_steps(scene: LiveCrash, user: Seen, scheduler: Any) -> SchedulerRefusal:
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
    calls = calls_in(tree, type(scheduler).__name__) if tree is not None else []
    return statement_place(user.file, calls[0].lineno) if len(calls) == 1 else Place()


def _unbound_call(user: Seen) -> SchedulerRefusal | None:
    """A call that Python could not bind: an argument of the constructor or of step() is missing."""
    for call in calls_on_line(user):
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


# How often a line is reached: the batches and epochs that the loops around it go through.
Counted = tuple[dict[str, int], Any]  # batches and epochs, and the loader itself


def counted_loops(scene: LiveCrash) -> Counted:
    """The innermost loop through a loader, and the next `range(...)` around it."""
    numbers: dict[str, int] = {}
    found: Any = None
    for seen in reversed(scene.frames):
        for loop in for_statements(seen) if seen.user else ():
            _, loader = next(loader_in(loop.iter, seen), ("", None))
            if found is None and loader is not None and (batches := length_of(loader)):
                found, numbers["batches"] = loader, batches
            elif found is not None and (epochs := _range_length(loop.iter, seen)):
                return {**numbers, "epochs": epochs}, found
    return numbers, found


def _range_length(node: ast.expr, seen: Seen) -> int:
    """Of range(epochs) and range(1, epochs + 1), also inside tqdm(...); 0 for anything else."""
    while isinstance(node, ast.Call) and ast.unparse(node.func) not in ("range", "trange") and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Call) or not node.args or node.keywords:
        return 0
    given = [_value(part, seen) for part in node.args]
    return len(range(*given)) if all(type(number) is int for number in given) else 0


def _value(node: ast.expr, seen: Seen) -> Any:
    """Also of an attribute that a class keeps for its objects: class Settings: epochs = 3"""
    if isinstance(node, ast.Attribute):
        return inspect.getattr_static(_value(node.value, seen), node.attr, None)
    if isinstance(node, ast.Name):
        return seen.frame.f_locals.get(node.id, seen.frame.f_globals.get(node.id))
    try:
        return computed_value(node, seen.frame)
    except UnknownValueError:
        return None


def frame_around(scene: LiveCrash, place: Place) -> Seen | None:
    """The living frame of the function that holds a line."""
    users = [seen for seen in reversed(scene.frames) if seen.user and seen.file == place.file]
    return next((seen for seen in users if place.line and _holds(seen, place.line)), None)


def _holds(seen: Seen, line: int) -> bool:
    function = Scope(seen).function
    return covers(function, line) if not isinstance(function, ast.Module) else True


def name_in(seen: Seen | None, value: Any) -> str:
    """What a frame calls an object."""
    names = {**seen.frame.f_globals, **seen.frame.f_locals} if seen is not None and value is not None else {}
    return next((name for name, held in names.items() if held is value and not name.startswith("_")), "")


def argument_made(seen: Seen | None, place: Place, keywords: tuple[str, ...]) -> Place:
    """Where the name was assigned that a call at a place gives for one of these keywords."""
    scope = Scope(seen) if seen is not None else None
    statements = [one for one in scope.statements() if covers(one, place.line or 0)] if scope is not None else []
    words = [
        word.value for one in statements for word in ast.walk(one)
        if isinstance(word, ast.keyword) and word.arg in keywords
    ]  # fmt: skip
    for node in words:
        if scope is not None and isinstance(node, ast.Name):
            made = scope.assignment_before(node.id, place.line or 0)
            return statement_place(scope.file, made.lineno) if isinstance(made, ast.Assign) else Place()
    return Place()


# A GradScaler that was called in the wrong order or on the wrong things: read from its own bookkeeping.
def examine_scaler(scene: LiveCrash) -> ScalerRefusal | None:
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
        updated=any(_owner(call).endswith(name) for _, call in calls_in_files(user_files(scene.frames), "update")),
        place=_place(scene, user, fault, name),
    )


def _called(scene: LiveCrash) -> Seen | None:
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


def _place(scene: LiveCrash, user: Seen, fault: str, scaler: str) -> Place:
    """The other line that matters, where there is only one it can be."""
    files = user_files(scene.frames)
    if fault == "nothing scaled":
        found = [place for place, call in calls_in_files(files, "backward") if not call.args]
    elif fault == "not stepped":
        steps = calls_in_files(files, "step")
        found = [place for place, call in steps if is_a(_held(user, call), torch.optim.Optimizer)]
    elif fault == "unscaled twice":
        others = calls_in_files(files, "unscale_")
        found = [place for place, _ in others if (place.file, place.line) != (user.file, user.line)]
    else:
        return Place()
    return statement_place(found[0].file or "", found[0].line or 0) if len(found) == 1 else Place()


def _held(user: Seen, call: ast.Call) -> Any:
    return value_of(user, call.func.value) if isinstance(call.func, ast.Attribute) else None


def _owner(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
