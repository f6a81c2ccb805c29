"""TD202: images go into the first layer as bytes, 0 to 255."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at
from torch_debugger.checks.model_call import only_argument, with_argument
from torch_debugger.checks.raw_inputs import RawInputs, is_image, is_trained, root_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, InputLook, Record, TargetLook


class ImageRange(Check):
    """Images reach the first layer with values from 0 to 255.

    Symptom:
        The first losses are huge, learning is slow or stops at once, and only tiny learning rates work.
    Evidence:
        On several deep steps the first layer that learns was given values between 0 and 255, with none
        below 0 and a mean square in the thousands; no layer that learns and no normalisation came before.
    Fix:
        Divide by 255, or use `ToTensor()` and `Normalize(mean, std)`, before the model is called.
    Known limits:
        Judged at the layer itself: a model that divides inside its forward, or begins with a BatchNorm, is not
        reported. A run whose loss falls all the same gets a note. Flattened images are known by usual sizes
        only.
    """

    id = "TD202"
    name = "image-range-0-255"
    title = "images go into the model as 0 to 255"
    reads = (InputLook, TargetLook)
    explains = ("lr-too-high", "dead-relu", "loss-not-finite", "overflow-ahead", "vanishing-gradient")

    def __init__(self) -> None:
        self._raw = RawInputs()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, InputLook | TargetLook)
        self._raw.see(record)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        for looks in self._raw.layers():
            if all(is_image(look) for look in looks) and is_trained(looks[0], state):
                yield self._judge(looks, self._raw.severity(state))

    def _judge(self, looks: list[InputLook], severity: str) -> Finding:
        first, last = looks[0], looks[-1]
        argument = only_argument(first.call.code, root_of(first)) or "images"
        change = f"`{argument} / 255`" if argument.isidentifier() else f"`({argument}) / 255`"
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"`{first.layer}` ({first.kind}) is given images with values up to {last.maximum:.0f} "
                f"(mean {last.mean:.0f}, std {last.std:.0f}) by the call{at(first.call)}."
            ),
            why=(
                "Layers draw their weights for inputs of about unit size. With bytes the first outputs and "
                "gradients are some hundred times too large, and the first steps throw the weights away."
            ),
            fix=f"Scale the images for the model: {change} instead of `{argument}`{at(first.call)}.",
            where=first.call,
            first_step=first.step,
            last_step=last.step,
            evidence={"maximum": last.maximum, "mean": last.mean, "std": last.std},
            edit=with_argument(first.call, root_of(first), "{} / 255"),
        )
