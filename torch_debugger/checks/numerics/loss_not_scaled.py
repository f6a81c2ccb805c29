"""TD607: gradients divided by a GradScaler's scale that they were never multiplied by."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record, ScalerMisuse


class LossNotScaled(Check):
    """The backward pass begins at the plain loss, yet `scaler.step` divides its gradients by the scale.

    Symptom:
        With mixed precision nothing is learned, or only with Adam; the gradient norm is about 1e-5.
    Evidence:
        Every backward pass of the step began at a loss that `scaler.scale` had not returned, and
        `scaler.step(optimizer)` followed; and the scale it divided by.
    Fix:
        Write `scaler.scale(loss).backward()`: the scaled loss is what `scale` returns.
    Known limits:
        Looked at on deep steps, of which the first three always are. Where some backward passes of a step are
        scaled and others are not, nothing is said. A scaler that never scaled anything raises an error of its
        own at `scaler.step`.
    """

    id = "TD607"
    name = "loss-not-scaled"
    title = "the loss was not scaled, but its gradients are unscaled"
    reads = (ScalerMisuse,)
    explains = ("vanishing-gradient", "gradient-underflow")

    # A scale near 1 changes nothing.
    smallest_scale = 4.0
    # One step may be an odd one: a warm-up batch, a second stage.
    looks_needed = 2

    def __init__(self) -> None:
        self._steps: list[int] = []

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ScalerMisuse)
        if record.fault == "not scaled" and record.scale >= self.smallest_scale:
            self._steps.append(record.step)
            if len(self._steps) >= self.looks_needed:
                yield self._found(record)

    def _found(self, record: ScalerMisuse) -> Finding:
        line = f" at {record.place.file}:{record.place.line}" if record.place.file else ""
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"The loss whose backward pass begins{line} was not scaled, but "
            f"`{record.scaler}.step` divides its gradients by {record.scale:g}.",
            why=f"`{record.scaler}.scale(loss)` changes nothing in place: it returns the scaled loss. "
            f"Gradients of the plain loss come out of `{record.scaler}.step` {record.scale:g} times too small.",
            fix=f"Begin the backward pass at the scaled loss: `{record.scaler}.scale(loss).backward()`.",
            where=record.place,
            first_step=self._steps[0],
            last_step=record.step,
            evidence={"scale": record.scale},
        )
