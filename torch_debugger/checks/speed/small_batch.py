"""TD740: a batch so small that the device is hardly used, with room for a larger one."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import LEAST_GAIN, milliseconds
from torch_debugger.checks.profiled_steps import each, launching_s, plain_s
from torch_debugger.checks.speed.launch_bound import LaunchBound
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, ProfileFact, Record, RootInput


class SmallBatch(Check):
    """The batch is so small that a step takes as long as the host needs to start it, not as the device works.

    Symptom:
        The device is hardly used and its memory is nearly free. Twice the batch takes no longer.
    Evidence:
        From a profile of some steps: the device works for less than half of a step, in kernels that are over
        in microseconds, its memory was never filled to a quarter, and the batch is no larger than 512. Where
        a step has hundreds of kernels `launch-bound` speaks instead.
    Fix:
        A larger batch, with a learning rate to match: the time of a sample falls in proportion, as long as
        the step takes no longer.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU. It is a note, because the batch changes
        what is learned: fewer, better averaged updates.
    """

    id = "TD740"
    name = "small-batch"
    title = "the batch is too small for the device"
    reads = (RootInput, ProfileFact)

    largest_batch = 512
    largest_kernel_s = LaunchBound.largest_kernel_s
    highest_busy = 0.5  # of a step
    fullest = 0.25  # of the device's memory
    most_times = 8  # larger: what nobody would try in one go

    def __init__(self) -> None:
        self._given: RootInput | None = None

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, RootInput):
            self._given = record if record.trained and len(record.shape) > 1 else self._given
        elif isinstance(record, ProfileFact) and self._given is not None:
            yield from self._look(record, self._given, state)

    def _look(self, record: ProfileFact, given: RootInput, state: RunState) -> Iterable[Finding]:
        few = 0 < record.kernels < LaunchBound.least_kernels * record.steps
        if not few or state.speed is None or given.shape[0] > self.largest_batch or not record.peak_bytes:
            return
        busy = record.device_busy_s / plain_s(record)
        tiny = record.device_busy_s <= self.largest_kernel_s * record.kernels
        roomy = record.peak_bytes <= self.fullest * state.speed.device_bytes
        times = self._times(busy, record.peak_bytes / max(1, state.speed.device_bytes))
        gain = (1 - 1 / times) * launching_s(record, state.split) / plain_s(record)
        if busy <= self.highest_busy and tiny and roomy and gain >= LEAST_GAIN:
            yield self._told(record, given, state.speed.device_bytes, times, gain)

    def _times(self, busy: float, full: float) -> int:
        """A power of two that neither the device's time nor half of its memory forbids."""
        times = 1
        while 2 * times <= self.most_times and 2 * times * busy <= 1 and 2 * times * full <= 0.5:
            times *= 2
        return times

    def _told(
        self, record: ProfileFact, given: RootInput, device_bytes: int, times: int, gain: float
    ) -> Finding:
        batch = given.shape[0]
        busy_s = each(record.device_busy_s, record)
        return self.finding(
            severity="note",
            confidence=0.75,
            message=(
                f"With batches of {batch} the device works for {milliseconds(busy_s)} of the "
                f"{milliseconds(each(plain_s(record), record))} of a step, and "
                f"{100 * record.peak_bytes / device_bytes:.0f} % of its memory were ever used."
            ),
            why=(
                "Starting a step costs the host the same for any batch. As long as the device waits for it, "
                "more samples in a step take no longer."
            ),
            fix=(
                f"Try batches of {times * batch}, with a learning rate to match. That saves up to "
                f"{100 * gain:.0f} % of the time for the same number of samples."
            ),
            where=given.call,
            first_step=record.first_step,
            last_step=record.first_step + record.steps - 1,
            evidence={
                "expected_gain": gain,
                "batch": float(batch),
                "device_busy_s": busy_s,
                "step_s": each(plain_s(record), record),
                "peak_bytes_of_device": float(record.peak_bytes),
            },
        )
