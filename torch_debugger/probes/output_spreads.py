"""How far samples differ in what a model returned, where the training loop keeps it in no variable."""

from __future__ import annotations

import weakref
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.roots import Root
from torch_debugger.probes.sample_spread import SampleSpreads, embeddings
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Watch


class OutputSpreads(SampleSpreads):
    """Nothing is kept alive: what is gone by backward() is not measured."""

    MOST = 4

    def __init__(self, watch: Watch, forward: Forward) -> None:
        super().__init__(watch)
        self._outputs: list[tuple[int, str, weakref.ref[torch.Tensor]]] = []
        forward.on_output.append(self._see_deep)
        forward.roots.on_output.append(self._see_light)

    def _see_deep(self, path: str, module: nn.Module, given: Any, made: Any) -> None:
        if "." not in path:
            self._keep(path, made)

    def _see_light(self, root: Root, made: Any) -> None:
        if self.watch.depth != DEEP:
            self._keep(root.name, made)

    def _keep(self, path: str, made: Any) -> None:
        output = first_tensor(made)
        self._outputs = [each for each in self._outputs if each[0] == self.watch.step]
        if output is not None and len(self._outputs) < self.MOST:
            count = sum(known == path for _, known, _ in self._outputs)
            name = path if not count else f"{path}, call {count + 1}"
            self._outputs.append((self.watch.step, name, weakref.ref(output)))

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        outputs, self._outputs = self._outputs, []
        here = [(name, output()) for step, name, output in outputs if step == self.watch.step]
        known = {name: output for name, output in here if output is not None}
        if len(self.variables(frame)) < 2:
            self.measure(embeddings(known))
