"""How large float16 outputs are, on light steps: deep ones are too rare to see a trend in time.

Only models that make float16 pay for it: the hooks are on for one light step in three at most, and take
nothing but the smallest and largest value.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.anatomy.running import in_backward, in_transform
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.measured import Measured, tables
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.sampling import LIGHT, NONE
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Table, TensorRows
from torch_debugger.stats.summary import measurable
from torch_debugger.stats.unseen import no_grad

COLUMNS = ("min", "max")


class Ranges(Probe):
    name = "ranges"
    deep_only = True
    SPACING = 3  # steps between looks at the start of a run

    def __init__(self, watch: Watch, forward: Forward) -> None:
        super().__init__(watch)
        self.forward = forward
        self._handle: RemovableHandle | None = None
        self._found: dict[str, Measured] = {}
        self._last = 0
        self._listens = False

    def begin_step(self, depth: int) -> None:
        self._hook_off()
        if self.forward.makes_half and not self._listens:
            self._listens = True
            self.watch.tell_of_light_steps(self)
        if self._listens and depth == LIGHT and not self.forward.paused and self._is_due(self.watch.step):
            self._last = self.watch.step
            self._handle = module_hooks.register_module_forward_hook(self._after)

    def end_step(self) -> None:
        self._hook_off()
        found, self._found = self._found, {}
        for table, values in tables("range", found, COLUMNS):
            self.watch.transfer.send(values, functools.partial(self._deliver, table, self.watch.step))

    def give_up(self) -> None:
        self._hook_off()

    def remove(self) -> None:
        self.begin_step(NONE)

    def _is_due(self, step: int) -> bool:
        return step - self._last >= max(self.SPACING, step // 20)

    def _hook_off(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _after(self, module: nn.Module, arguments: Any, output: Any) -> None:
        if torch.is_grad_enabled() and not torch._C._get_tracing_state():
            self.watch.probe(self.name, self._measure, module, output)

    @no_grad()
    def _measure(self, module: nn.Module, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is None or tensor.dtype is not torch.float16 or not measurable(tensor):
            return
        path = self.forward.known_path(module)
        if path is not None and path not in self._found and not in_backward() and not in_transform():
            low, high = torch.aminmax(tensor.detach())
            self._found[path] = Measured(torch.stack((low, high)).float(), tensor.dtype)

    def _deliver(self, table: Table, step: int, values: Any) -> None:
        self.watch.emit(TensorRows(step, table, values))
