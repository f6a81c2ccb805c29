"""TD732: the device waits for the next tiny kernel most of the time."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.profiled_steps import each, launching_s, plain_s
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Place, ProfileFact, Record, RootInput


class LaunchBound(Check):
    """Steps are made of many tiny kernels: starting them takes longer than running them.

    Symptom:
        The device is hardly used, a larger batch takes no longer, and a faster device would not help.
    Evidence:
        From a profile of some steps: the number of kernels in a step, their mean time, and the share of a
        plain step in which the device had anything to do. Time in which it waits for data, for logging or for
        an evaluation is left out, and so is what follows after waits of the host.
    Fix:
        `torch.compile(model, mode="reduce-overhead")` joins small kernels and starts them all at once as a
        CUDA graph; `torch.cuda.make_graphed_callables` does the latter alone. A larger batch makes the
        kernels larger, `fused=True` makes one kernel of an optimizer's many.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU. What a graph saves is taken to be four
        fifths of the idle time; models with sizes that change from step to step get less.
    """

    id = "TD732"
    name = "launch-bound"
    title = "the device waits for the host to start tiny kernels"
    reads = (RootInput, ProfileFact)

    least_kernels = 100  # in a step: fewer are started in a millisecond
    largest_kernel_s = 20e-6  # starting one takes the host 5 to 10 us
    highest_busy = 0.6  # of a step
    saved = 0.8  # of the idle time

    def __init__(self) -> None:
        self._call = Place()  # of the model that is trained

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, RootInput):
            self._call = record.call if record.trained else self._call
        elif isinstance(record, ProfileFact):
            yield from self._look(record, state)

    def _look(self, record: ProfileFact, state: RunState) -> Iterable[Finding]:
        if not record.on_device or (record.launches or record.kernels) < self.least_kernels * record.steps:
            return
        kernel_s = record.device_busy_s / max(1, record.kernels)
        busy = record.device_busy_s / plain_s(record)
        if kernel_s > self.largest_kernel_s or busy > self.highest_busy:
            return
        waited_s = launching_s(record, state.split)
        gain = self.saved * waited_s / plain_s(record)
        severity = severity_of(gain)
        if severity is not None:
            yield self._judge(record, severity, gain, waited_s)

    def _judge(self, record: ProfileFact, severity: str, gain: float, waited_s: float) -> Finding:
        dearest = max(record.lines, key=lambda line: line.host_s + line.backward_s, default=None)
        busy = record.device_busy_s / plain_s(record)
        return self.finding(
            severity=severity,
            confidence=0.85,
            message=(
                f"The device works for {milliseconds(each(record.device_busy_s, record))} of the "
                f"{milliseconds(each(plain_s(record), record))} of a step ({100 * busy:.0f} %) and waits for "
                f"the host otherwise, which starts {record.kernels / record.steps:.0f} kernels of "
                f"{1e6 * record.device_busy_s / max(1, record.kernels):.2g} us each."
            ),
            why=(
                "Each op costs the host 5 to 10 us before its kernel runs. Where kernels are shorter than "
                "that, the device is done before the next one is there."
            ),
            fix=(
                'Write `model = torch.compile(model, mode="reduce-overhead")` before the loop: it joins '
                "kernels and "
                "starts them as one CUDA graph (`torch.cuda.make_graphed_callables` does so without "
                f"compiling). A larger batch helps as well. That saves up to {100 * gain:.0f} % of a step."
            ),
            where=self._call or (dearest.place if dearest is not None else Place()),
            first_step=record.first_step,
            last_step=record.first_step + record.steps - 1,
            evidence={
                "expected_gain": gain,
                "launching_s": each(waited_s, record),
                "device_busy_s": each(record.device_busy_s, record),
                "step_s": each(plain_s(record), record),
                "kernels": record.kernels / record.steps,
            },
        )
