"""torch.compile: what is compiled, and that nothing of ours is compiled with it.

Hooks that dynamo meets while it traces are compiled in, and taking them off compiles again. So
from the first torch.compile on no module call is hooked any more.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import weakref
from pathlib import Path
from types import CodeType
from typing import Any

import torch
from torch import nn

from torch_debugger.model.hooks import something_is_compiled
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Compilation, Place
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.system.tracebacks import hidden_in_tracebacks

_PACKAGE = __name__.partition(".")[0]
_WRITTEN = (str(Path(__file__).parents[2]) + os.sep, "<string>")  # by dataclasses


class Compiled(Probe):
    name = "compile"

    def __init__(self, watch: Watch, roots: RootModules, forward: Forward) -> None:
        super().__init__(watch)
        self.roots = roots
        self.forward = forward

    def install(self, patches: Patches) -> None:
        patches.replace(torch, "compile", self._around_compile)
        if something_is_compiled():
            self._pause_forward()

    def _around_compile(self, original: Any) -> Any:
        def compile(*arguments: Any, **keywords: Any) -> Any:
            self.watch.probe(self.name, self._meet, arguments)
            with hidden_in_tracebacks:
                return original(*arguments, **keywords)

        compile.__wrapped__ = original  # type: ignore[attr-defined]
        compile.__doc__ = original.__doc__
        return compile

    def _meet(self, arguments: tuple[Any, ...]) -> None:
        self._pause_forward()
        for value in arguments[:1]:
            owner = getattr(value, "__self__", None)
            if isinstance(value, nn.Module):
                self.roots.compiled.append(weakref.ref(value))
            elif isinstance(owner, torch.optim.Optimizer):
                self.watch.clock.gone(id(owner))  # its steps will not be heard; backward passes are counted

    def _pause_forward(self) -> None:
        if not self.forward.paused:
            self.forward.pause()
            self.roots.open_gates()
            # Dynamo compiles what a compiled function calls between its graphs, and in a whole training step that is
            # us as well.
            from torch._dynamo.eval_frame import skip_code

            for code in _codes_of_ours():
                skip_code(code)
            self.watch.on_step.append(Compilations(self.watch).step_done)
            self.watch.notice(
                "torch.compile is in use: layers inside compiled regions are not looked into; "
                "loss, gradients, weights and updates are."
            )


def _codes_of_ours() -> set[CodeType]:
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == _PACKAGE]
    waiting: list[Any] = [value for module in modules for value in vars(module).values()]
    kinds = [kind for kind in waiting if isinstance(kind, type) and kind.__module__.startswith(_PACKAGE)]
    waiting += [entry for kind in kinds for entry in vars(kind).values()]
    found: set[CodeType] = set()
    while waiting:
        entry = inspect.unwrap(waiting.pop(), stop=lambda each: not callable(each))
        entry = getattr(entry, "__func__", getattr(entry, "fget", entry))
        code = entry if isinstance(entry, CodeType) else getattr(entry, "__code__", None)
        if isinstance(code, CodeType) and code not in found and code.co_filename.startswith(_WRITTEN):
            found.add(code)
            waiting += code.co_consts
    return found


# What torch.compile compiled since the last step, and why it did so again: by its own list of them.
_PART = re.compile(r"torch_dynamo_resume_in_(?P<function>.+)_at_(?P<line>\d+)")
_FILE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_MOST = 200  # told in a run


class Compilations:
    """Listens to steps once something is compiled; asks a list of at most 64 entries whether it has grown."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._last: Any = None
        self._reports = 0

    def step_done(self, step: int, scalars: dict[str, float]) -> None:
        self.watch.probe("compilations", self._look, step)

    def _look(self, step: int) -> None:
        dynamo = sys.modules.get("torch._dynamo.utils")
        listed: list[Any] = getattr(dynamo, "get_compilation_metrics", list)()
        if not listed or listed[-1] is self._last:
            return
        known = next((place for place, each in enumerate(listed) if each is self._last), -1)
        self._last = listed[-1]
        for each in listed[known + 1 :]:
            found = _read(each, step)
            if found is not None and self._reports < _MOST:
                self._reports += 1
                self.watch.emit(found)


def _read(metrics: Any, step: int) -> Compilation | None:
    """None for the compilation of a backward, which has no function of the user's."""
    frame, _, again = str(getattr(metrics, "compile_id", "") or "").rpartition("]")[2].partition("/")
    seconds = getattr(metrics, "entire_frame_compile_time_s", None)
    if seconds is None or not frame.isdecimal():
        return None
    failure, recompiled = (str(getattr(metrics, name, "") or "") for name in ("fail_reason", "recompile_reason"))
    # Why the tracing of it began anew: most often a line that cannot be traced.
    restarts = "\n".join(sorted(map(str, getattr(metrics, "restart_reasons", None) or ())))
    reason = failure or recompiled or restarts
    # 0/1: self.calls == 1     # self.calls += 1 -> self.calls == 1
    first = re.sub(r"^\d+/\d+: ", "", (recompiled or reason).strip().partition("\n")[0])
    named = [(found["file"], int(found["line"])) for found in _FILE.finditer(reason)]
    inside = [each for each in named if is_user_file(each[0])]
    function, file = getattr(metrics, "co_name", None) or "", getattr(metrics, "co_filename", None) or ""
    part = _PART.fullmatch(function)
    line = int(part["line"]) if part else getattr(metrics, "co_firstlineno", None) or 0
    return Compilation(
        frame=int(frame),
        again=int(again.partition("_")[0] or 0),
        function=part["function"] if part else function,
        place=place_at(file, line) if file and is_user_file(file) else Place(),
        is_part=part is not None,
        seconds=float(seconds),
        reason=first.partition("  #")[0].partition(" (HINT")[0].strip()[:200],
        reason_place=place_at(*inside[-1]) if inside else Place(),
        given_up=bool(failure),
        step=step,
    )


# torch.compile left out, where a script runs no further than its first step: models are seen by layer.
class Uncompiled(Probe):
    name = "compile"

    def install(self, patches: Patches) -> None:
        def as_it_is(model: Any = None, *arguments: Any, **keywords: Any) -> Any:
            """Also as a decorator with options: @torch.compile(mode=...)."""
            return (lambda function: function) if model is None else model

        patches.replace(torch, "compile", lambda original: as_it_is)
        patches.replace(nn.Module, "compile", lambda original: lambda model, *arguments, **keywords: None)


# CUDA graphs: while one is captured, nothing of ours is captured with it.
#
# A capture records whatever is put on the stream, for every replay, and fails on what cannot be recorded: a look at a
# number, pinned memory, an event that is read later. So all probes sleep until it is over.
class Captured(Probe):
    name = "cuda graphs"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._slept_before = False

    def install(self, patches: Patches) -> None:
        """`torch.cuda.make_graphed_callables` goes through it too."""
        patches.replace(torch.cuda.graph, "__enter__", self._around_enter)
        patches.replace(torch.cuda.graph, "__exit__", self._around_exit)

    def _around_enter(self, original: Any) -> Any:
        def enter(capture: Any) -> Any:
            self._slept_before, self.watch.active = not self.watch.active, False
            try:
                return original(capture)
            except BaseException:
                self.watch.active = not self._slept_before
                raise

        return enter

    def _around_exit(self, original: Any) -> Any:
        def leave(capture: Any, *error: Any) -> Any:
            try:
                return original(capture, *error)
            finally:
                self.watch.active = not self._slept_before

        return leave
