"""TD736: cuDNN puts the tensors of each convolution into another order and back."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.profiled_steps import dearest_line, each, plain_s
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, ProfileFact, Record


class ConvsNotChannelsLast(Check):
    """Images are kept channel by channel, and tensor cores want the channels of a pixel together.

    Symptom:
        Under autocast a convolutional network gains less than it should, and its profile is full of kernels
        named nchwToNhwc.
    Evidence:
        From a profile of some steps: the device's time in kernels by which cuDNN puts tensors into the other
        order before a convolution and back behind it.
    Fix:
        `model = model.to(memory_format=torch.channels_last)` and the same for the images:
        `x = x.to(device, memory_format=torch.channels_last)`.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU. Ops that put tensors back into the usual
        order (`view`, some of your own) take part of it away again.
    """

    id = "TD736"
    name = "convs-not-channels-last"
    title = "cuDNN turns the tensors of convolutions round and back"
    reads = (ProfileFact,)

    # Of a step, in which the device works: where it mostly waits, shorter kernels save nothing.
    least_busy = 0.5
    # Convolutions and normalisations have faster kernels for that order, too: on an H200 a small network lost
    # 2.8 times as much as the turning took.
    saved = 1.5

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ProfileFact)
        if record.layout_s <= 0 or record.device_busy_s < self.least_busy * plain_s(record):
            return
        severity = severity_of(self._gain(record))
        if severity is not None:
            yield self._judge(record, severity)

    def _gain(self, record: ProfileFact) -> float:
        return min(1.0, self.saved * record.layout_s / plain_s(record))

    def _judge(self, record: ProfileFact, severity: str) -> Finding:
        gain = self._gain(record)
        convolutions = [product for product in record.products if product.is_convolution]
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"{milliseconds(each(record.layout_s, record))} of the "
                f"{milliseconds(each(plain_s(record), record))} of a step the device only puts the tensors "
                "of convolutions into another order and back (nchwToNhwc)."
            ),
            why=(
                "Tensor cores want the channels of one pixel side by side. Tensors in the usual order, one "
                "plane for each channel, are turned round before such a convolution and back behind it."
            ),
            fix=(
                "Write `model = model.to(memory_format=torch.channels_last)` before the optimizer is made, "
                "and bring images to the device with `x.to(device, memory_format=torch.channels_last)`. That "
                f"saves about {100 * gain:.0f} % of a step."
            ),
            where=dearest_line(convolutions),
            first_step=record.first_step,
            last_step=record.first_step + record.steps - 1,
            evidence={
                "expected_gain": gain,
                "layout_s": each(record.layout_s, record),
                "step_s": each(plain_s(record), record),
            },
        )
