"""GradScaler: steps it leaves out fire no optimizer hook, yet they are steps."""

from __future__ import annotations

import functools
from typing import Any

import torch

from torch_debugger.probes.patches import Patches
from torch_debugger.probes.watch import Probe


class Scaler(Probe):
    name = "grad scaler"
    _stepped_at = -1

    def install(self, patches: Patches) -> None:
        patches.replace(torch.amp.GradScaler, "update", self._around_update)

    def _around_update(self, original: Any) -> Any:
        @functools.wraps(original)
        def update(scaler: Any, *arguments: Any, **keywords: Any) -> Any:
            result = original(scaler, *arguments, **keywords)
            if self.watch.active and self.watch.probe(self.name, self._skipped):
                self.watch.clock.scaler_skipped()
                self.watch.end_step()
            return result

        return update

    def _skipped(self) -> bool:
        """Whether no step has closed since the last update."""
        skipped = self.watch.clock.step == self._stepped_at
        self._stepped_at = self.watch.clock.step + (1 if skipped else 0)
        return skipped
