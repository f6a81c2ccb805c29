"""Which module's forward runs when, for the few steps that are profiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.anatomy.naming import module_paths, name_root
from torch_debugger.clocks import time
from torch_debugger.profiling.module_calls import ModuleCalls


class ModuleLog(ModuleCalls):
    """By the paths it is given (id of a module -> net.layers.0); models that are not among them are named as
    they are called."""

    def __init__(self, paths: Mapping[int, str]) -> None:
        super().__init__()
        self._paths = dict(paths)
        self._handles: list[RemovableHandle] = []

    def start(self) -> None:
        self._handles = [
            module_hooks.register_module_forward_pre_hook(self._enter),
            module_hooks.register_module_forward_hook(self._leave, always_call=True),
        ]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        if not self.stack and id(module) not in self._paths:
            self._paths |= module_paths(module, name_root(module, user_frame(2)))
        path = self._paths.get(id(module))
        if path is not None:
            now = time.time_ns()
            self.note(now, (*self.stack, path))
            self.calls.append((path, type(module).__name__, now, now))

    def _leave(self, module: nn.Module, arguments: Any, output: Any) -> None:
        path = self._paths.get(id(module))
        if path is None or not self.stack or self.stack[-1] != path:
            return
        now = time.time_ns()
        for place in range(len(self.calls) - 1, -1, -1):
            known, kind, began, ended = self.calls[place]
            if known == path and ended == began:
                self.calls[place] = known, kind, began, now
                break
        self.note(now, self.stack[:-1])
