"""Which line of the user's made which storage: written down as operations run, for storages that live.

A dispatch mode sees every operation of its thread, the backward on a CPU included. A storage that is gone is
forgotten at once, so what is kept is as large as what lives.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.memory_ids import memory_of
from torch_debugger.anatomy.naming import module_paths, name_root
from torch_debugger.anatomy.sources import is_user_file


@dataclass(frozen=True, slots=True)
class Made:
    storage: weakref.ref[Any]
    file: str  # empty: it was there before
    line: int
    module: str


class StorageLines(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.known: dict[int, Made] = {}  # by the address of torch's own storage object
        self._paths: dict[int, str] = {}
        self._modules: list[str] = []
        self._hooks: list[RemovableHandle] = []

    def __enter__(self) -> Any:
        self._hooks = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._modules = [], []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        for tensor in _tensors(made):
            self._see(tensor, args)
        return made

    def _see(self, tensor: torch.Tensor, given: tuple[Any, ...]) -> None:
        storage = memory_of(tensor)
        if storage is None or storage._cdata in self.known or storage.device.type == "meta":
            return
        key = storage._cdata
        found = ("", 0) if _is_given(storage, given) else _line(sys._getframe(2))
        module = self._modules[-1] if self._modules else ""
        self.known[key] = Made(weakref.ref(storage, lambda _: self.known.pop(key, None)), *found, module)

    def _enter_module(self, module: nn.Module, given: Any) -> None:
        if not self._modules and id(module) not in self._paths:
            self._paths |= module_paths(module, name_root(module, user_frame(2)))
        around = self._modules[-1] if self._modules else ""
        self._modules.append(self._paths.get(id(module), around))

    def _leave_module(self, module: nn.Module, given: Any, output: Any) -> None:
        if self._modules:
            self._modules.pop()


def _is_given(storage: Any, given: tuple[Any, ...]) -> bool:
    """In place, or a view: what came out has gone in."""
    return any(memory_of(each) is storage for each in _tensors(given))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Operations of torch take and give tensors, and lists of them."""
    if issubclass(type(value), torch.Tensor):
        yield value
    elif is_a(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


def _line(frame: FrameType | None) -> tuple[str, int]:
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
