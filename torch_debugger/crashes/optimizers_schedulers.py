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

from torch_debugger.crashes.expressions import (
    UNKNOWN,
    calls_on_line,
    computed_or_none,
    value_of,
)
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor, kind_name, statement_place
from torch_debugger.crashes.functions import Scope, calls_in_files, user_files
from torch_debugger.crashes.loading_dataloader import length_of
from torch_debugger.crashes.loading_samples import for_statements, loader_in
from torch_debugger.records import Place
from torch_debugger.records.crash_modules import ScalerRefusal, SchedulerRefusal
from torch_debugger.source.files import covers, nodes_of, tree_of
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.syntax import called_name
from torch_debugger.source.variables import name_of

_SCHEDULER = (lr_scheduler.LRScheduler, lr_scheduler.ReduceLROnPlateau)


def examine_scheduler(crash: LiveCrash) -> SchedulerRefusal | None:
    user = crash.user_frame
    inner = crash.innermost
    if user is None or inner is None:
        return None
    if inner is user:
        return _unbound_call(user) if isinstance(crash.error, TypeError) else None
    scheduler = _scheduler(crash)
    if scheduler is None:
        return None
    fact = _refused(crash, user, scheduler)
    return dataclasses.replace(fact, optimizer=_name_of(user, torch.optim.Optimizer)) if fact is not None else None


def _scheduler(crash: LiveCrash) -> Any:
    """The scheduler whose method the frames behind the user's line run."""
    for seen in reversed(crash.frames):
        if seen.user:
            return None
        owner = seen.locals.get("self")
        if is_a(owner, _SCHEDULER) and seen.file.endswith("lr_scheduler.py"):
            return owner
    return None


def _refused(crash: LiveCrash, user: LiveFrame, scheduler: Any) -> SchedulerRefusal | None:
    kind = type(scheduler).__name__
    building = next((seen for seen in crash.frames if seen.function == "__init__" and not seen.user), None)
    if building is None:
        return _refused_step(crash, user, scheduler, kind)
    variables = building.locals
    optimizer = variables.get("optimizer")
    if not is_a(optimizer, torch.optim.Optimizer):
        return SchedulerRefusal(kind, "no optimizer", kind_name(type(optimizer)).rpartition(".")[2])
    if (
        isinstance(crash.error, KeyError)
        and "initial_lr" in str(crash.error)
        and is_a(variables.get("last_epoch"), int)
    ):
        return SchedulerRefusal(kind, "last epoch", numbers={"last_epoch": variables["last_epoch"]})
    return _wrong_argument(user, kind, variables, optimizer)


def _wrong_argument(
    user: LiveFrame, kind: str, variables: dict[str, Any], optimizer: torch.optim.Optimizer
) -> SchedulerRefusal | None:
    milestones, gamma = variables.get("milestones"), variables.get("gamma")
    if kind == "MultiStepLR" and is_a(milestones, (int, float)):
        numbers = {"milestone": int(milestones)} | ({"second": gamma} if type(gamma) is int else {})
        return SchedulerRefusal(kind, "milestones", repr(milestones), numbers=numbers)
    if kind == "ReduceLROnPlateau" and variables.get("mode") not in ("min", "max"):
        return SchedulerRefusal(kind, "mode", repr(variables.get("mode")))
    if kind == "SequentialLR":
        return _wrong_sequence(kind, variables, optimizer)
    functions: Any = variables.get("lr_lambda")
    groups = len(optimizer.param_groups)
    if is_one_of(functions, (list, tuple)) and len(functions) != groups:
        return SchedulerRefusal(kind, "lambdas", numbers={"functions": len(functions), "groups": groups})
    if is_a(functions, (int, float)):
        return SchedulerRefusal(kind, "factor", repr(functions))
    for name in ("steps_per_epoch", "epochs", "total_steps", "T_0"):
        if is_a(variables.get(name), float):
            return SchedulerRefusal(kind, "whole number", f"{name}={variables[name]!r}")
    lengths = (variables.get("epochs"), variables.get("steps_per_epoch"))
    if kind == "OneCycleLR" and variables.get("total_steps") is None and None in lengths:
        return SchedulerRefusal(kind, "no length", _name_of(user, DataLoader), numbers=_lengths(user))
    return None


def _wrong_sequence(kind: str, variables: dict[str, Any], optimizer: torch.optim.Optimizer) -> SchedulerRefusal | None:
    schedulers, milestones = variables.get("schedulers"), variables.get("milestones")
    if not is_a(schedulers, (list, tuple)):
        return None
    for index, item in enumerate(schedulers):
        if is_a(item, _SCHEDULER) and item.optimizer is not optimizer:
            return SchedulerRefusal(kind, "stranger", type(item).__name__, numbers={"index": index})
    if is_a(milestones, (list, tuple)) and len(schedulers) != len(milestones) + 1:
        numbers = {"schedulers": len(schedulers), "milestones": len(milestones)}
        return SchedulerRefusal(kind, "count", numbers=numbers)
    return None


def _refused_step(crash: LiveCrash, user: LiveFrame, scheduler: Any, kind: str) -> SchedulerRefusal | None:
    own = vars(scheduler)
    nodes = nodes_of(tree_of(user.file) or ast.Module([], []))
    lines = [node.lineno for node in nodes if isinstance(node, ast.Call) and called_name(node) == kind]
    built = statement_place(user.file, lines[0]) if len(lines) == 1 else Place()
    if kind == "OneCycleLR" and own.get("last_epoch", 0) >= own.get("total_steps", float("inf")):
        counted, loader = counted_loops(crash)
        users = [seen for seen in crash.user_frames if seen.file == built.file and built.line]
        # the living frame of the function that builds it
        building = next((seen for seen in users if _covers(seen, built.line or 0)), None)
        return SchedulerRefusal(
            kind, "too many steps", name_in(building, loader) if loader is not None else _name_of(user, DataLoader),
            numbers={"total_steps": int(scheduler.total_steps), **_lengths(user), **counted},
            place=built, counted=argument_made(building, built, ("total_steps", "steps_per_epoch")),
        )  # fmt: skip
    metrics = next((seen.locals["metrics"] for seen in crash.frames if "metrics" in seen.locals), None)
    if kind == "ReduceLROnPlateau" and is_one_of(metrics, (list, tuple, dict)):
        return SchedulerRefusal(kind, "metrics", type(metrics).__name__)
    return SchedulerRefusal(kind, "step size", place=built) if own.get("step_size") == 0 else None


def _covers(seen: LiveFrame, line: int) -> bool:
    function = Scope(seen).function
    return isinstance(function, ast.Module) or covers(function, line)


def _lengths(user: LiveFrame) -> dict[str, int]:
    """Numbers in reach that tell how often a scheduler is stepped: batches of a loader, epochs."""
    found: dict[str, int] = {}
    for name, value in user.names.items():
        if is_a(value, DataLoader) and "batches" not in found:
            found["batches"] = len(value)
        elif type(value) is int and "epochs" in name.lower():
            found["epochs"] = value
    return found


def _name_of(user: LiveFrame, kind: type) -> str:
    found = [name for name, value in user.names.items() if is_a(value, kind) and not name.startswith("_")]
    return min(found, key=lambda name: "train" not in name, default="")


def _unbound_call(user: LiveFrame) -> SchedulerRefusal | None:
    """A call that Python could not bind: an argument of the constructor or of step() is missing."""
    for call in calls_on_line(user):
        cls, count = value_of(user, call.func), len(call.args) + len(call.keywords)
        if is_a(cls, type) and issubclass(cls, _SCHEDULER):
            parameters, named = inspect.signature(cls).parameters, {str(word.arg) for word in call.keywords}
            rest = list(parameters.values())[len(call.args) :] if named <= set(parameters) else []
            missing = [item.name for item in rest if item.default is item.empty and item.name not in named]
            if missing:
                optimizer = _name_of(user, torch.optim.Optimizer)
                return SchedulerRefusal(cls.__name__, "missing", missing[0], optimizer, _lengths(user))
        owner = _owner_of(user, call)
        if not is_a(owner, _SCHEDULER) or called_name(call) != "step":
            continue
        kind, takes_metric = type(owner).__name__, is_a(owner, lr_scheduler.ReduceLROnPlateau)
        if takes_metric and not count:
            return SchedulerRefusal(kind, "no metric", _metric(user))
        if not takes_metric and count > 1:
            return SchedulerRefusal(kind, "step arguments", numbers={"given": count})
        return None
    return None


def _owner_of(user: LiveFrame, call: ast.Call) -> Any:
    return value_of(user, call.func.value) if isinstance(call.func, ast.Attribute) else UNKNOWN


def _metric(user: LiveFrame) -> str:
    """A name that holds one number and is called a loss, those of a validation first."""
    losses = [
        name
        for name, value in user.names.items()
        if "loss" in name.lower() and (type(value) is float or (is_tensor(value) and value.numel() == 1))
    ]
    return min(losses, key=lambda name: "val" not in name.lower() and "test" not in name.lower(), default="")


# How often a line is reached: the batches and epochs that the loops around it go through.
Counted = tuple[dict[str, int], Any]  # batches and epochs, and the loader itself


def counted_loops(crash: LiveCrash) -> Counted:
    """The innermost loop through a loader, and the next `range(...)` around it."""
    numbers: dict[str, int] = {}
    found: Any = None
    for seen in reversed(crash.frames):
        for loop in for_statements(seen) if seen.user else ():
            _, loader = next(loader_in(loop.iter, seen), ("", None))
            if found is None and loader is not None and (batches := length_of(loader)):
                found, numbers["batches"] = loader, batches
            elif found is not None and (epochs := _range_length(loop.iter, seen)):
                return {**numbers, "epochs": epochs}, found
    return numbers, found


def _range_length(node: ast.expr, seen: LiveFrame) -> int:
    """Of range(epochs) and range(1, epochs + 1), also inside tqdm(...); 0 for anything else."""
    while isinstance(node, ast.Call) and ast.unparse(node.func) not in ("range", "trange") and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Call) or not node.args or node.keywords:
        return 0
    numbers = [_value(part, seen) for part in node.args]
    return len(range(*numbers)) if all(type(number) is int for number in numbers) else 0


def _value(node: ast.expr, seen: LiveFrame) -> Any:
    """Also of an attribute that a class keeps for its objects: class Settings: epochs = 3"""
    if isinstance(node, ast.Attribute):
        return inspect.getattr_static(_value(node.value, seen), node.attr, None)
    return seen.named(node.id) if isinstance(node, ast.Name) else computed_or_none(node, seen)


def name_in(seen: LiveFrame | None, value: Any) -> str:
    """What a frame calls an object."""
    names = seen.names if seen is not None and value is not None else {}
    return next((name for name, item in names.items() if item is value and not name.startswith("_")), "")


def argument_made(seen: LiveFrame | None, place: Place, keywords: tuple[str, ...]) -> Place:
    """Where the name was assigned that a call at a place gives for one of these keywords."""
    scope, line = Scope(seen) if seen is not None else None, place.line or 0
    nodes = [part for one in (scope.statements() if scope else ()) if covers(one, line) for part in ast.walk(one)]
    words = [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg in keywords]
    name = next((node.id for node in words if isinstance(node, ast.Name)), None)
    made = scope.assignment_before(name, line) if scope is not None and name is not None else None
    return statement_place(seen.file, made.lineno) if seen is not None and isinstance(made, ast.Assign) else Place()


# A GradScaler that was called in the wrong order or on the wrong things: read from its own bookkeeping.
def examine_scaler(crash: LiveCrash) -> ScalerRefusal | None:
    user, called = crash.user_frame, crash.called_by_user("grad_scaler.py")
    if user is None or called is None or not is_a(called.locals.get("self"), torch.amp.GradScaler):
        return None
    scaler, optimizer = called.locals["self"], called.locals.get("optimizer")
    fault = _fault(crash.error, called, scaler, optimizer)
    if fault is None:
        return None
    name = name_of(scaler, user.frame) or "scaler"
    return ScalerRefusal(
        fault=fault,
        method=called.function,
        scaler=name,
        optimizer=name_of(optimizer, user.frame) or "optimizer" if optimizer is not None else "",
        updated=any(
            isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).endswith(name)
            for _, call in calls_in_files(user_files(crash.frames), "update")
        ),
        place=_place(crash, user, fault, name),
    )


def _fault(error: BaseException, called: LiveFrame, scaler: Any, optimizer: Any) -> str | None:
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


def _place(crash: LiveCrash, user: LiveFrame, fault: str, scaler: str) -> Place:
    """The other line that matters, where there is only one it can be."""
    files = user_files(crash.frames)
    if fault == "nothing scaled":
        found = [place for place, call in calls_in_files(files, "backward") if not call.args]
    elif fault == "not stepped":
        steps = calls_in_files(files, "step")
        found = [place for place, call in steps if is_a(_owner_of(user, call), torch.optim.Optimizer)]
    elif fault == "unscaled twice":
        others = calls_in_files(files, "unscale_")
        found = [place for place, _ in others if (place.file, place.line) != (user.file, user.line)]
    else:
        return Place()
    return statement_place(found[0].file or "", found[0].line or 0) if len(found) == 1 else Place()
