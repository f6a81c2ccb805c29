"""TD606: an update made with gradients that still carry a GradScaler's scale."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, Record, ScalerMisuse


class ScaledGradientsInStep(Check):
    """The loss is scaled, but the optimizer steps without the scaler: the gradients are far too large.

    Symptom:
        The loss explodes within a few steps; with Adam the first steps look usual, and a skipped overflow
        makes the weights NaN later on.
    Evidence:
        `optimizer.step()` was called after the backward pass of a scaled loss, with neither `scaler.step` nor
        `scaler.unscale_` in between; and the scale at that time.
    Fix:
        Write `scaler.step(optimizer)` and `scaler.update()` instead of `optimizer.step()`.
    Known limits:
        Looked at on deep steps, of which the first three always are. Judged only where every backward pass
        of the step began at what `scaler.scale` returned; gradients that you divide yourself are not seen.
    """

    id = "TD606"
    name = "scaled-gradients-in-step"
    title = "the optimizer steps with gradients that are still scaled"
    reads = (ScalerMisuse,)
    explains = ("lr-too-high", "loss-not-finite", "overflow-ahead", "dead-relu")

    # A scale near 1 changes nothing.
    smallest_scale = 4.0

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ScalerMisuse)
        if record.fault == "stepped" and record.scale >= self.smallest_scale:
            self._seen.setdefault(record.optimizer, record.step)
            yield self._found(record, self._seen[record.optimizer])

    def _found(self, record: ScalerMisuse, first_step: int) -> Finding:
        name = record.optimizer
        line = f" at {record.place.file}:{record.place.line}" if record.place.file else ""
        return self.finding(
            severity="error",
            confidence=0.96,
            message=f"`{name}.step()`{line} uses gradients that are still multiplied by the scale of a "
            f"GradScaler, {record.scale:g}.",
            why="`scaler.scale(loss)` makes every gradient that many times larger. Only `scaler.step` (or "
            "`scaler.unscale_`) divides them again, and leaves out steps in which they overflowed.",
            fix=f"Write `{record.scaler}.step({name})`, then `{record.scaler}.update()`, instead of "
            f"`{name}.step()`.",
            where=record.place,
            first_step=first_step,
            last_step=record.step,
            evidence={"scale": record.scale},
            edit=_edit(record),
        )


def _edit(record: ScalerMisuse) -> Edit | None:
    """Two lines for one, where the call stands alone."""
    place, name = record.place, record.optimizer
    code = place.code or ""
    if place.file is None or place.line is None or code.strip() != f"{name}.step()":
        return None
    indent = code[: len(code) - len(code.lstrip())]
    after = f"{indent}{record.scaler}.step({name})\n{indent}{record.scaler}.update()"
    return Edit(place.file, place.line, code, after)
