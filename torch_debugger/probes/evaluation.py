"""Validation: losses computed without gradients, and numbers the script itself logs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.loss import _Loss

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.gates import Gate
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch


class Evaluation(Probe):
    """Loss modules called where no gradient is wanted: their mean since the last training step."""

    name = "evaluation"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._sums: dict[str, tuple[torch.Tensor, int]] = {}
        self._gate = Gate(self._around)

    def install(self, patches: Patches) -> None:
        self._gate.put_on(_Loss)

    def remove(self) -> None:
        self._gate.take_off()

    def _around(self, criterion: nn.Module) -> Callable[..., Any] | None:
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            return None
        return functools.partial(self._call, criterion)

    def _call(self, criterion: nn.Module, /, *arguments: Any, **keywords: Any) -> Any:
        value = criterion._call_impl(*arguments, **keywords)  # type: ignore[no-untyped-call]
        self.watch.probe("evaluation", self._add, type(criterion).__name__, value)
        return value

    def _add(self, name: str, value: Any) -> None:
        if not is_a(value, torch.Tensor) or value.numel() != 1:
            return
        number = value.detach().float().reshape(1)
        total, count = self._sums.get(name, (torch.zeros_like(number), 0))
        self._sums[name] = (total + number, count + 1)

    def end_step(self) -> None:
        sums, self._sums = self._sums, {}
        for name, (total, count) in sums.items():
            self._send(f"eval/{name}", total / count)

    def _send(self, tag: str, mean: torch.Tensor) -> None:
        step = self.watch.step
        self.watch.transfer.send(mean, lambda found: self.watch.say(step, {tag: float(found[0])}))
