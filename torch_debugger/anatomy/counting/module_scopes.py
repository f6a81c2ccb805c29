"""Whose operation is it: the path of the module whose forward runs, and in backward, ran."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from torch_debugger.anatomy.layers import clean_path, every_path

_next_node = torch._C._autograd._get_sequence_nr
_current_node = torch._C._current_autograd_node


class ModuleScopes:
    """Follows the calls of a model's modules, with hooks that do not hang on any of them.

    Hooks on the modules themselves would make torch leave its fused paths. A shared module counts under the
    path of the caller's part of the model; called again there, under its next path.
    """

    def __init__(self, model: nn.Module) -> None:
        self.in_order = [
            (clean_path(path), module)
            for path, module in every_path(model)
            if "_orig_mod" not in module._modules  # what torch.compile wraps comes under the same path
        ]
        self.paths: dict[nn.Module, list[str]] = {}
        for path, module in self.in_order:
            self.paths.setdefault(module, []).append(path)
        self.calls: Counter[str] = Counter()
        self.path = ""
        self._open: list[tuple[nn.Module, str]] = []
        self._turns: Counter[tuple[nn.Module, str]] = Counter()
        # Autograd numbers its nodes: from this number on, they belong to that path.
        self._numbers: list[int] = [0]
        self._owners: list[str] = [""]

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        hooks = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def owner_in_backward(self) -> str:
        """Of the node that autograd runs; inside of a forward that runs again, the module under way."""
        if self._open:
            return self.path
        node = _current_node()
        return self._owners[bisect_right(self._numbers, node._sequence_nr()) - 1] if node is not None else ""

    def close(self) -> None:
        """Between forward and backward: no module is under way."""
        self._open.clear()
        self._note("")

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        paths = self.paths.get(module)
        if paths is None:
            return  # made inside of a forward: it counts for the module that made it
        path = paths[0] if len(paths) == 1 else self._chosen(module, paths)
        self.calls[path] += 1
        self._open.append((module, self.path))
        self._note(path)

    def _leave(self, module: nn.Module, arguments: Any, output: Any) -> None:
        if module not in self.paths:
            return
        while self._open:
            opened, before = self._open.pop()
            if opened is module:
                self._note(before)
                return

    def _chosen(self, module: nn.Module, paths: list[str]) -> str:
        here = [path for path in paths if path.startswith(f"{self.path}." if self.path else "")] or paths
        turn = self._turns[module, self.path]
        self._turns[module, self.path] += 1
        return here[turn % len(here)]

    def _note(self, path: str) -> None:
        self.path = path
        number = _next_node()
        if self._numbers[-1] == number:
            self._owners[-1] = path
        else:
            self._numbers.append(number)
            self._owners.append(path)
