"""What is done about a NaN besides telling: nothing, end the script, stop in a debugger, skip the update."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch import isfinite
from torch.optim import Optimizer

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.probes.watch import Watch
from torch_debugger.records import NonFinite
from torch_debugger.stats.unseen import no_grad

StopAt = Callable[[FrameType, str, dict[str, Any]], None]


class Policy:
    """`report` never makes the host wait for a device; the others may."""

    def __init__(self, watch: Watch, kind: str, stop_at: StopAt | None = None) -> None:
        self.watch = watch
        self.kind = kind
        self.waits = kind != "report"
        self._stop_at = stop_at
        self._due: NonFinite | None = None
        self._left_out: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}  # optimizer -> its gradients
        self.skipped = 0

    def told(self, fact: NonFinite) -> None:
        self._due = fact

    def act(self) -> None:
        """Called where the script's own line runs, outside of what keeps our exceptions in."""
        fact, self._due = self._due, None
        if fact is None or not self.watch.active:
            return
        if self.kind == "stop":
            self.watch.stopping = True
            raise SystemExit(1)
        if self.kind == "break" and self._stop_at is not None:
            frame = user_frame(2)
            if frame is not None:
                self._stop_at(frame, f"the {fact.what} became {fact.value} at step {fact.step}", {})

    # skip-step

    @no_grad()
    def before_update(self, optimizer: Optimizer) -> None:
        """Without gradients an optimizer changes nothing."""
        held = [(p, p.grad) for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if self.kind != "skip-step" or not held or _all_finite([gradient for _, gradient in held]):
            return
        self._left_out[id(optimizer)] = held
        for parameter, _ in held:
            parameter.grad = None
        self.skipped += 1
        self.watch.scalars["skipped_steps"] = float(self.skipped)
        if self.skipped == 1:
            self.watch.notice("Updates with gradients that are not finite are left out (--on-nan skip-step).")

    def after_update(self, optimizer: Optimizer) -> None:
        for parameter, gradient in self._left_out.pop(id(optimizer), ()):
            parameter.grad = gradient


def _all_finite(gradients: list[torch.Tensor]) -> bool:
    """By sums in float64, which no float32 gradient can overflow."""
    values = [gradient.coalesce().values() if gradient.is_sparse else gradient for gradient in gradients]
    sums = [value.sum(dtype=torch.float64).to(values[0].device) for value in values]
    return bool(isfinite(torch.stack(sums)).all())
