"""GradScaler: steps it leaves out fire no optimizer hook, yet they are steps."""

from __future__ import annotations

import functools
from typing import Any

import torch

from torch_debugger.probes.patches import Patches
from torch_debugger.probes.watch import Probe


class Scaler(Probe):
    name = "grad scaler"

    def install(self, patches: Patches) -> None:
        patches.replace(torch.amp.GradScaler, "step", self._around_step)

    def _around_step(self, original: Any) -> Any:
        @functools.wraps(original)
        def step(scaler: Any, optimizer: Any, *arguments: Any, **keywords: Any) -> Any:
            before = self.watch.clock.optimizer_steps
            result = original(scaler, optimizer, *arguments, **keywords)
            if self.watch.active and self.watch.clock.optimizer_steps == before:
                self._skipped(optimizer)
            return result

        return step

    def _skipped(self, optimizer: Any) -> None:
        if self.watch.probe(self.name, self.watch.clock.skipped_step, id(optimizer)):
            self.watch.end_step()
