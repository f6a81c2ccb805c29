"""TD605: gradients clipped while a GradScaler's scale is still in them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record, ScalerMisuse


class ClipBeforeUnscale(Check):
    """Gradients are clipped before `scaler.unscale_`, while they are still multiplied by the scale.

    Symptom:
        With mixed precision the loss falls far slower than without, or not at all; every step is clipped.
    Evidence:
        The call of `clip_grad_norm_` or `clip_grad_value_` came after the backward pass of a scaled loss and
        before `unscale_`; the scale at that time, the limit, and the norm that was found.
    Fix:
        Call `scaler.unscale_(optimizer)` between `backward()` and the clip. `scaler.step` sees that it was
        done and does not divide again.
    Known limits:
        Looked at on deep steps, of which the first three always are. A limit that grows with the scale
        (`max_norm * scaler.get_scale()`) is right and not reported. A clip of your own making is not seen.
    """

    id = "TD605"
    name = "clip-before-unscale"
    title = "gradients are clipped before they are unscaled"
    reads = (ScalerMisuse,)
    explains = ("vanishing-gradient", "gradient-underflow")

    # Limits are between 0.01 and 100 in practice; one that was multiplied by the scale is near it.
    limit_to_scale = 0.01
    # A scale near 1 changes nothing.
    smallest_scale = 32.0

    def __init__(self) -> None:
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ScalerMisuse)
        if self._reported or record.fault != "clipped" or record.scale < self.smallest_scale:
            return
        if not record.limit < self.limit_to_scale * record.scale or record.norm <= record.limit:
            return
        self._reported = True
        yield self._found(record)

    def _found(self, record: ScalerMisuse) -> Finding:
        line = f" at {record.place.file}:{record.place.line}" if record.place.file else ""
        return self.finding(
            severity="error",
            confidence=0.96,
            message=f"The gradients were clipped to {record.limit:g}{line} while they were still multiplied by "
            f"{record.scale:g}{_found_norm(record)}.",
            why=f"`{record.scaler}.step` divides by the scale afterwards: what is left of a gradient is at "
            f"most {record.limit / record.scale:.2g}, whatever it was before.",
            fix=f"Call `{record.scaler}.unscale_({record.optimizer})` before the line that clips.",
            where=record.place,
            first_step=record.step,
            last_step=record.step,
            evidence={"scale": record.scale, "limit": record.limit, "norm": record.norm},
        )


def _found_norm(record: ScalerMisuse) -> str:
    """A norm that is not finite says nothing: the scaler leaves that step out."""
    if not math.isfinite(record.norm):
        return ""
    return f": their norm was {record.norm:.3g}, which is {record.norm / record.scale:.3g} without the scale"
