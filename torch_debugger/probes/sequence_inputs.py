"""Layers that take the first axis of their input for time, on a few deep steps: what they are given."""

from __future__ import annotations

from typing import Any

from torch import nn

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import SequenceInput


class SequenceInputs:
    EACH = 4  # looks at a layer
    LAYERS = 4

    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch = watch
        self.roots = roots
        self._looks: dict[str, int] = {}

    def see(self, path: str, module: nn.Module, arguments: Any) -> None:
        if not isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) or module.batch_first:
            return
        given, looks = first_tensor(arguments), self._looks.get(path, 0)
        if given is None or given.dim() != 3 or looks >= self.EACH:  # a packed sequence has no third dimension
            return
        if looks or len(self._looks) < self.LAYERS:
            self._looks[path] = looks + 1
            told = (path, type(module).__name__, tuple(given.shape), self._fed(path))
            self.watch.emit(SequenceInput(*told, place_of(user_frame(2)), self.watch.step))

    def _fed(self, path: str) -> tuple[int, ...]:
        root = next((root for root, _ in self.roots.alive() if root.name == path.split(".")[0]), None)
        fed = first_tensor(root.call) if root is not None and root.call is not None else None
        return tuple(fed.shape) if fed is not None else ()
