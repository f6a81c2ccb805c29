"""A profiler that refused a call: read from its options, its schedule and what it has recorded."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from torch_debugger.crashes.expressions import statement_node
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, kind_name, statement_place
from torch_debugger.crashes.functions import calls_in_files, user_files
from torch_debugger.records import Place
from torch_debugger.records.crash import ProfilerRefusal
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.variables import name_of

_FILES = ("torch/profiler/profiler.py", "torch/autograd/profiler.py")
_TIMES = ("wait", "warmup", "active", "repeat", "skip_first")
_MEMORY = ("record_shapes", "profile_memory", "with_stack")


def examine_profiler(crash: LiveCrash) -> ProfilerRefusal | None:
    """None where the innermost frame is not torch's profiler's own."""
    user, called, inner = crash.user_frame, crash.called_by_user(*_FILES), crash.innermost
    if user is None or called is None or inner is None or not _is_profilers(inner):
        return None
    if called.function == "schedule":
        times = _times(called.locals)
        if not times or (times["active"] > 0 and min(times.values()) >= 0):
            return None
        return ProfilerRefusal("schedule", "schedule", schedule=times)
    if inner.function == "handler_fn" and is_a(crash.error.__cause__, OSError):
        return _of_folder(crash, inner)
    profiler = called.locals.get("self")
    if called.function == "__init__" and is_a(profiler, torch.profiler.profile):
        activities = called.locals.get("activities")
        if not is_a(crash.error, AssertionError) or not is_a(activities, (list, tuple, set)):
            return None
        if any(is_a(each, torch.profiler.ProfilerActivity) for each in activities):
            return None
        return ProfilerRefusal("activities", "profile", missing=tuple(kind_name(type(each)) for each in activities))
    name = name_of(profiler, user.frame) or "prof"
    if is_a(profiler, torch.autograd.profiler.profile):
        if called.function == "__enter__" and profiler.entered:
            return ProfilerRefusal("entered twice", "__enter__", name)
        return None
    if not is_one_of(profiler, (torch.profiler.profile,)):
        return None
    return _of_results(crash, called, profiler, name)


def _is_profilers(seen: LiveFrame) -> bool:
    return seen.file.replace("\\", "/").endswith(_FILES)


def _times(names: Any) -> dict[str, int]:
    times = {name: names.get(name) for name in _TIMES}
    return times if all(is_one_of(value, (int,)) for value in times.values()) else {}


def _of_folder(crash: LiveCrash, handler: LiveFrame) -> ProfilerRefusal | None:
    folder = handler.locals.get("dir_name")
    if not is_a(folder, str):
        return None
    path = Path(folder)
    above = next((each for each in (path, *path.parents) if each.exists()), None)
    blocked = str(above) if above is not None and above.is_file() else ""
    place = _only(crash, "tensorboard_trace_handler")
    return ProfilerRefusal("directory", "tensorboard_trace_handler", folder=folder, in_the_way=blocked, place=place)


def _of_results(crash: LiveCrash, called: LiveFrame, profiler: Any, name: str) -> ProfilerRefusal | None:
    """What the profiler has recorded does not allow what was called."""
    recorder, method = profiler.profiler, called.function
    options: tuple[str, ...] = _MEMORY if method == "export_memory_timeline" else ()
    options = ("with_stack",) if method == "export_stacks" and recorder is not None else options
    missing = tuple(option for option in options if not getattr(profiler, option))
    built = _only(crash, "profile")
    if missing:
        return ProfilerRefusal("options", method, name, missing=missing, place=built)
    if recorder is None and is_a(crash.error, AssertionError):
        return _of_nothing(crash, profiler, method, name)
    if method != "export_chrome_trace":
        return None
    # A `with` around the line has stopped the profiler by now: what it has recorded since tells nothing.
    if is_a(crash.error, AttributeError) and crash.frame_of("export_chrome_trace", _FILES[1]) is crash.innermost:
        return ProfilerRefusal("running", method, name)
    if recorder.kineto_results is not None and is_a(crash.error, RuntimeError):
        return _of_saved(crash, profiler, name)
    return None


def _of_nothing(crash: LiveCrash, profiler: Any, method: str, name: str) -> ProfilerRefusal:
    waits = profiler.current_action is torch.profiler.ProfilerAction.NONE
    steps = [
        call for _, call in calls_in_files(user_files(crash.frames), "step")
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == name
    ]  # fmt: skip
    return ProfilerRefusal(
        "waiting" if waits else "not started", method, name,
        schedule=_times(_closure(profiler.schedule)), steps=profiler.step_num, stepped=bool(steps),
    )  # fmt: skip


def _of_saved(crash: LiveCrash, profiler: Any, name: str) -> ProfilerRefusal | None:
    """Only where it can be seen who saved the trace before."""
    user = crash.user_frame
    assert user is not None
    handler = profiler.on_trace_ready
    folder = _closure(handler).get("dir_name")
    if handler is not None and getattr(handler, "__module__", "") == "torch.profiler.profiler":
        place = _only(crash, "tensorboard_trace_handler")
        return ProfilerRefusal("saved", "export_chrome_trace", name, folder=str(folder or ""), place=place)
    here = statement_node(user)
    lines = [place for place, _ in calls_in_files(user_files(crash.frames), "export_chrome_trace")]
    others = [place for place in lines if here is None or place.line != here.lineno or place.file != user.file]
    if len(others) != 1:
        return None
    return ProfilerRefusal("saved", "export_chrome_trace", name, place=others[0])


def _closure(function: Callable[..., Any] | None) -> dict[str, Any]:
    """What a function of torch's own remembers: schedule() and tensorboard_trace_handler() return such ones."""
    if getattr(function, "__module__", "") != "torch.profiler.profiler":
        return {}
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    names = code.co_freevars if code is not None else ()
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}


def _only(crash: LiveCrash, function: str) -> Place:
    """The statement of the one call of this function in the user's files."""
    found = [place for place, _ in calls_in_files(user_files(crash.frames), function)]
    return statement_place(found[0].file or "", found[0].line or 0) if len(found) == 1 else Place()
