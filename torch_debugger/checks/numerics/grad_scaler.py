"""GradScaler: scaled and unscaled gradients in the wrong place, and a scale that collapses."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.records import Finding, Place, Record, Scalars, ScalerMisuse, TensorRows

_LOSS_SCALE_MATTERS = 4.0  # a scale near 1 changes nothing


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

    # One step may be an odd one: a warm-up batch, a second stage.
    looks_needed = 2

    def __init__(self) -> None:
        self._steps: list[int] = []

    def see(self, record: ScalerMisuse, state: RunState) -> Iterable[Finding]:
        if record.fault == "not scaled" and record.scale >= _LOSS_SCALE_MATTERS:
            self._steps.append(record.step)
            if len(self._steps) >= self.looks_needed:
                yield self.finding(
                    severity="error",
                    confidence=0.95,
                    message=f"The loss whose backward pass begins{at_line(record.place)} was not scaled, but "
                    f"`{record.scaler}.step` divides its gradients by {record.scale:g}.",
                    why=f"`{record.scaler}.scale(loss)` changes nothing in place: it returns the scaled loss. "
                    f"Gradients of the plain loss come out of `{record.scaler}.step` {record.scale:g} times too small.",
                    fix=f"Begin the backward pass at the scaled loss: `{record.scaler}.scale(loss).backward()`.",
                    where=record.place,
                    steps=(self._steps[0], record.step),
                    evidence={"scale": record.scale},
                )


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

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def see(self, record: ScalerMisuse, state: RunState) -> Iterable[Finding]:
        if record.fault == "stepped" and record.scale >= _LOSS_SCALE_MATTERS:
            place, name, scaler = record.place, record.optimizer, record.scaler
            self._seen.setdefault(name, record.step)
            # Two lines for one, where the call stands alone.
            code = place.code or ""
            indent = code[: len(code) - len(code.lstrip())]
            after = f"{indent}{scaler}.step({name})\n{indent}{scaler}.update()"
            yield self.finding(
                severity="error",
                confidence=0.96,
                message=f"`{name}.step()`{at_line(place)} uses gradients that are still multiplied by the scale of a "
                f"GradScaler, {record.scale:g}.",
                why="`scaler.scale(loss)` makes every gradient that many times larger. Only `scaler.step` (or "
                "`scaler.unscale_`) divides them again, and leaves out steps in which they overflowed.",
                fix=f"Write `{scaler}.step({name})`, then `{scaler}.update()`, instead of `{name}.step()`.",
                where=place,
                steps=(self._seen[name], record.step),
                evidence={"scale": record.scale},
                edit=edit_line(place, after) if code.strip() == f"{name}.step()" else None,
            )


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

    def see(self, record: ScalerMisuse, state: RunState) -> Iterable[Finding]:
        if self._reported or record.fault != "clipped" or record.scale < self.smallest_scale:
            return
        if not record.limit < self.limit_to_scale * record.scale or record.norm <= record.limit:
            return
        self._reported = True
        norm = ""  # one that is not finite says nothing: the scaler leaves that step out
        if math.isfinite(record.norm):
            without = record.norm / record.scale
            norm = f": their norm was {record.norm:.3g}, which is {without:.3g} without the scale"
        yield self.finding(
            severity="error",
            confidence=0.96,
            message=f"The gradients were clipped to {record.limit:g}{at_line(record.place)} while they were still "
            f"multiplied by {record.scale:g}{norm}.",
            why=f"`{record.scaler}.step` divides by the scale afterwards: what is left of a gradient is at "
            f"most {record.limit / record.scale:.2g}, whatever it was before.",
            fix=f"Call `{record.scaler}.unscale_({record.optimizer})` before the line that clips.",
            where=record.place,
            steps=(record.step, record.step),
            evidence={"scale": record.scale, "limit": record.limit, "norm": record.norm},
        )


class ScaleCollapse(Check):
    """A GradScaler leaves out step after step, because the gradients are not finite at any scale.

    Symptom:
        The loss stands still although every step seems to run; `scaler.get_scale()` is far below 1.
    Evidence:
        The steps that the scaler left out, its scale when they began and now, and the module whose output or
        gradient was the first that was not finite.
    Fix:
        Bound what overflows, or keep that part in float32 or bfloat16; where it is NaN, find the operation
        that makes it. A smaller scale does not help.
    Known limits:
        A few steps left out at the start, or now and then, are how a GradScaler finds its scale: nothing is
        said while the scale is 1 or more, unless most of the last 40 steps were left out. The module is
        known only where a deep step was among those left out.
    """

    id = "TD604"
    name = "scale-collapse"
    title = "GradScaler leaves out most steps"
    reads = (Scalars, TensorRows)

    # From 65536 a scaler needs 16 steps down to 1. Below 1 the gradients overflow by themselves.
    lowest_scale = 1.0
    left_out_in_a_row = 4
    # With growth_interval at its default a healthy run leaves out one step in 2,000; with 1, every second one.
    window = 40
    left_out_share = 0.65

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=self.window)
        self._since: int | None = None  # the first step of those left out without one in between
        self._row = 0
        self._scale = self._first_scale = math.nan
        self._origins: dict[tuple[int, str], tuple[str, str]] = {}  # (step, kind) -> module, dtype
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TensorRows):
            self._see_rows(record)
        elif isinstance(record, Scalars) and not self._reported:
            self._see_numbers(record)
            losses = state.losses.points
            # Where the loss is not finite it is what to look at, and loss-not-finite does.
            if self._has_collapsed() and (not losses or math.isfinite(losses[-1][1])):
                self._reported = True
                phase, module, dtype = self._origin()
                count, since = sum(self._recent), self._since or record.step
                below_one, first = self._scale < self.lowest_scale, ""
                if module:
                    what = "output" if phase == "forward" else "gradient of the output"
                    first = f". The first {what} that is not finite is that of `{module}` ({dtype})"
                where = state.place_of(module) if module and state.module(module) else state.loss_place
                yield self.finding(
                    severity="error",
                    confidence=0.95 if below_one else 0.85,
                    message=f"GradScaler left out {count} of the last {len(self._recent)} steps; its scale fell from "
                    f"{self._first_scale:g} to {self._scale:.3g}{first}.",
                    why=(
                        "The scale is halved after every overflow. Below 1 it cannot be what makes the gradients "
                        "overflow: they are Inf or NaN by themselves, and no step will be taken any more."
                        if below_one
                        else "A step is left out when its gradients are not finite, and nothing is learned from it."
                    ),
                    fix=_fix(phase, module, dtype),
                    where=where or Place(module=module or None),
                    steps=(since, record.step),
                    evidence={"scale": self._scale, "first_scale": self._first_scale, "left_out": float(count)}
                    | ({"module": module, "phase": phase} if module else {}),
                )

    def _see_numbers(self, record: Scalars) -> None:
        if "scaler/scale" in record.values:
            self._scale = record.values["scaler/scale"]
            if math.isnan(self._first_scale):
                self._first_scale = self._scale
        if "scaler/skipped" in record.values:
            self._since = self._since if self._row else record.step
            self._row += 1
        elif "time/step_s" in record.values:  # a whole step, not a number that came late
            self._row = 0
        else:
            return
        self._recent.append("scaler/skipped" in record.values)

    def _has_collapsed(self) -> bool:
        if self._row >= self.left_out_in_a_row and self._scale < self.lowest_scale:
            return True
        full = len(self._recent) == self.window
        return full and sum(self._recent) > self.left_out_share * self.window and self._row > 0

    def _see_rows(self, rows: TensorRows) -> None:
        """The first module of the forward pass, or of the backward pass, that was not finite."""
        kind = rows.table.kind
        if kind not in ("activation", "output_gradient"):
            return
        dtypes = rows.table.dtypes or ("float32",) * len(rows.table.names)
        found = [
            (name, dtype)
            for name, dtype, mean, high in zip(
                rows.table.names, dtypes, rows.column("mean"), rows.column("max"), strict=True
            )
            if math.isnan(mean) or high == math.inf  # -inf alone is how attention is masked
        ]
        if found:
            self._origins[rows.step, kind] = found[0]  # both are in the order in which they were made
            while len(self._origins) > self.window:
                del self._origins[next(iter(self._origins))]

    def _origin(self) -> tuple[str, str, str]:
        """Of the last deep step that was left out: forward or backward, the module, its dtype."""
        steps = [step for step, _ in self._origins if step >= (self._since or 0)]
        last = max(steps, default=0)
        for kind, phase in (("activation", "forward"), ("output_gradient", "backward")):
            if (last, kind) in self._origins:
                return (phase, *self._origins[last, kind])
        return "", "", ""


def _fix(phase: str, module: str, dtype: str) -> str:
    if phase == "forward" and dtype == "float16":
        return (
            f"float16 ends at 65504: run `{module}` in float32 (`with torch.autocast(device, enabled=False):` "
            "and `x.float()`), use bfloat16, or divide before the large product or sum."
        )
    if phase:
        return (
            f"Look at what is computed from `{module}`: a log, root or division whose slope is Inf at 0 needs "
            "a small number (`torch.sqrt(x + 1e-8)`), also inside a `torch.where`; a product that overflows "
            "needs float32 (`torch.autocast(device, enabled=False)`)."
        )
    return (
        "Find the operation: `torch.autograd.detect_anomaly()` around one step names it. Then keep its input "
        "in range (`torch.sqrt(x + 1e-8)`), or run it in float32 (`torch.autocast(device, enabled=False)`)."
    )
