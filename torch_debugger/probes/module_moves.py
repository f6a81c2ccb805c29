"""Which modules the script puts on a device, and by which line: `model.to(device)`, `net.cuda()`."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place
from torch_debugger.tracebacks import hidden_in_tracebacks


class ModuleMoves(Probe):
    name = "module moves"
    KEPT = 64  # a script may move thousands of layers one by one

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._seen: list[tuple[weakref.ref[nn.Module], Place]] = []

    def install(self, patches: Patches) -> None:
        for name in ("to", "cuda"):
            patches.replace(nn.Module, name, self._around)

    def remove(self) -> None:
        self._seen.clear()

    def alive(self) -> list[tuple[nn.Module, Place]]:
        pairs = ((reference(), place) for reference, place in self._seen)
        return [(module, place) for module, place in pairs if module is not None]

    def _around(self, original: Any) -> Any:
        @functools.wraps(original)
        def move(module: nn.Module, *arguments: Any, **keywords: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(module, *arguments, **keywords)
            with hidden_in_tracebacks:
                result = original(module, *arguments, **keywords)
            if len(self._seen) < self.KEPT:
                self.watch.probe(self.name, self._note, module)
            return result

        return move

    def _note(self, module: nn.Module) -> None:
        self._seen.append((weakref.ref(module), place_of(user_frame(2))))
