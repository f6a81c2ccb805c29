"""Which module's forward runs when, for the few steps that are profiled."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.anatomy.naming import module_paths, name_root


class ModuleLog:
    """By the paths it is given (id of a module -> net.layers.0); models that are not among them are named as
    they are called."""

    def __init__(self, paths: Mapping[int, str]) -> None:
        self._paths = dict(paths)
        self.times_ns: list[int] = []
        self._stacks: list[tuple[str, ...]] = []  # the modules whose forward runs from then on
        self._stack: tuple[str, ...] = ()
        self._handles: list[RemovableHandle] = []
        self.calls: list[tuple[str, str, int, int]] = []  # path, kind, when it began and ended

    def start(self) -> None:
        self._handles = [
            module_hooks.register_module_forward_pre_hook(self._enter),
            module_hooks.register_module_forward_hook(self._leave, always_call=True),
        ]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def at(self, moment_ns: int) -> tuple[str, ...]:
        """The modules whose forward ran at this time, the outermost first."""
        place = bisect_right(self.times_ns, moment_ns) - 1
        return self._stacks[place] if place >= 0 else ()

    def between(self, began_ns: int, ended_ns: int) -> dict[str, tuple[str, int, float]]:
        """By path: the kind, the calls in that time and their seconds, with everything in them."""
        found: dict[str, tuple[str, int, float]] = {}
        reached: dict[str, int] = {}
        for path, kind, began, ended in self.calls:
            if began_ns <= began and ended <= ended_ns:
                _, calls, seconds = found.get(path, (kind, 0, 0.0))
                own_ns = 0 if began < reached.get(path, 0) else ended - began  # inside of itself: counted once
                found[path] = kind, calls + 1, seconds + own_ns / 1e9
                reached[path] = max(reached.get(path, 0), ended)
        return found

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        if not self._stack and id(module) not in self._paths:
            self._paths |= module_paths(module, name_root(module, user_frame(2)))
        path = self._paths.get(id(module))
        if path is not None:
            now = time.time_ns()
            self._note(now, (*self._stack, path))
            self.calls.append((path, type(module).__name__, now, now))

    def _leave(self, module: nn.Module, arguments: Any, output: Any) -> None:
        path = self._paths.get(id(module))
        if path is None or not self._stack or self._stack[-1] != path:
            return
        now = time.time_ns()
        for place in range(len(self.calls) - 1, -1, -1):
            known, kind, began, ended = self.calls[place]
            if known == path and ended == began:
                self.calls[place] = known, kind, began, now
                break
        self._note(now, self._stack[:-1])

    def _note(self, now: int, stack: tuple[str, ...]) -> None:
        self._stack = stack
        self.times_ns.append(now)
        self._stacks.append(stack)
