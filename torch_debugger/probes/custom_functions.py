"""Custom autograd Functions as the training calls them: each class of the user's own is met once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import class_source
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Watch

Meeting = Callable[[type[torch.autograd.Function], tuple[Any, ...], int], None]


class CustomFunctions(Probe):
    """Put on only where their gradients are to be checked (--check-custom-gradients)."""

    name = "custom functions"
    CLASSES = 16  # met in one run

    def __init__(self, watch: Watch, on_meeting: Meeting) -> None:
        super().__init__(watch)
        self._on_meeting = on_meeting
        self._met: set[type] = set()

    def install(self, patches: Patches) -> None:
        patches.replace(torch.autograd.Function, "apply", self._around_apply)

    def _around_apply(self, original: Any) -> Any:
        call = original.__func__

        @functools.wraps(call)
        def apply(function: Any, *arguments: Any, **keywords: Any) -> Any:
            if function not in self._met and self.watch.depth == DEEP:
                self.watch.probe(self.name, self._meet, function, arguments)
            return call(function, *arguments, **keywords)

        return classmethod(apply)

    def _meet(self, function: type[torch.autograd.Function], arguments: tuple[Any, ...]) -> None:
        differentiated = any(is_a(value, torch.Tensor) and value.requires_grad for value in arguments)
        if not differentiated or not torch.is_grad_enabled() or len(self._met) >= self.CLASSES:
            return
        self._met.add(function)
        if class_source(function) is not None:  # those of libraries are theirs to check
            self._on_meeting(function, arguments, self.watch.step)
