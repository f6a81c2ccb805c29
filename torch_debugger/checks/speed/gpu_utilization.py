"""A GPU that waits for the host, for tiny kernels, or for larger batches."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.checks.step_time import (
    LEAST_GAIN,
    each,
    idle_s,
    launching_s,
    milliseconds,
    per_step,
    plain_s,
    profiled_steps,
    severity_of,
)
from torch_debugger.records import Edit, Finding, Place, ProfileFact, Record, RootInput, SyncTime

_ADDED_UP = re.compile(r"^(?P<sum>[\w.]+ \+= .*?)(?:(?P<name>[\w.]+)\.item\(\)|float\((?P<given>[\w.]+)\))$")
_REMEDIES = {
    "aten::nonzero": "A size that depends on values has to be read by the host: use `torch.where(mask, a, "
    "b)`, multiply by the mask, or weight the loss with it instead of picking rows",
    "aten::is_nonzero": "Do not branch on a tensor: `torch.where`, or a decision that is taken every 50 steps",
    "aten::to": "Leave the tensor on the device (`.detach()`), and copy it every 50 steps",
    "cudaDeviceSynchronize": "Leave out `torch.cuda.synchronize()`: reading a result waits by itself",
}
_MASKED = ("aten::index", "aten::masked_select", "aten::index_put_")


class DeviceWaitedForEachStep(Check):
    """A line needs a number from the device in every step, and the device stands still after it.

    Symptom:
        The device's use goes up and down although there is enough to do. Steps take about as long as the
        host's work and the device's work together, rather than as the longer of the two.
    Evidence:
        From a profile of some steps: the waits of the host (in `.item()`, `.cpu()`, `print(tensor)`,
        `float(loss)`, `nonzero`, a boolean mask, `if tensor:`) by line, and how long the device had nothing
        to do after each of them. A wait for work that has to be done anyway is no loss: what counts is the
        shorter of the wait and the idle time that follows it.
    Fix:
        Keep the number on the device (`total += loss.detach()`) and read it every 50 steps.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU. Waits of less than half of the steps are
        left alone, and so are copies to the device: `unpinned-copy` knows them.
    """

    id = "TD730"
    name = "device-waited-for-each-step"
    title = "a line waits for the device in every step, which then stands still"
    reads = (ProfileFact,)

    # Of the profiled steps: a line that prints now and then is no fault.
    least_steps = 0.5
    # Lost in a step: below, the clock of a busy host tells nothing.
    least_lost_s = 0.0003

    def see(self, record: ProfileFact, state: RunState) -> Iterable[Finding]:
        least = self.least_steps * record.steps
        lines = {
            place: syncs for place, syncs in _by_line(record).items() if max(sync.count for sync in syncs) >= least
        }
        lost_s = min(idle_s(record), sum(_lost_s(syncs) for syncs in lines.values()))
        gain = lost_s / plain_s(record) if lines else 0.0
        severity = severity_of(gain)
        if severity is None or each(lost_s, record) < self.least_lost_s:
            return
        place, syncs = max(lines.items(), key=lambda item: _lost_s(item[1]))
        count, wait_s = sum(sync.count for sync in syncs), sum(sync.wait_s for sync in syncs)
        often = f"{count / max(1, record.steps):.3g} times" if count > record.steps else "once"
        others = f" {len(lines) - 1} more lines do the same." if len(lines) > 1 else ""
        worst = max(syncs, key=lambda sync: sync.lost_s)
        # total += loss.item() -> total += loss.detach()
        found = _ADDED_UP.match(place.code or "")
        edit = edit_line(place, f"{found['sum']}{found['name'] or found['given']}.detach()") if found else None
        yield self.finding(
            severity=severity,
            confidence=0.85,
            message=f"`{place.code or worst.op}` waits for the device {often} in each step, for "
            f"{per_step(wait_s, record)}, and then the device has nothing to do: that is {per_step(lost_s, record)} "
            f"of the {per_step(plain_s(record), record)} of a step.{others}",
            why="The host puts work into the device's queue ahead of time. When it needs a number from there, the "
            "queue has to run empty first, and what the host does next happens while the device stands still.",
            fix=f"{_remedy(worst, edit)}. That saves up to {100 * gain:.0f} % of a step.",
            where=place,
            steps=profiled_steps(record),
            evidence={
                "expected_gain": gain,
                "lost_s": each(lost_s, record),
                "wait_s": each(wait_s, record),
                "step_s": each(plain_s(record), record),
                "device_busy_s": each(record.device_busy_s, record),
                "op": worst.op,
            },
            edit=edit,
        )


def _by_line(record: ProfileFact) -> dict[Place, list[SyncTime]]:
    """Without the lines that bring data to the device."""
    ways: dict[Place, set[str]] = {}
    for copy in record.copies:
        ways.setdefault(copy.place, set()).add(copy.way)
    lines: dict[Place, list[SyncTime]] = {}
    for sync in record.syncs:
        if sync.place.file and ways.get(sync.place) != {"host to device"}:
            lines.setdefault(sync.place, []).append(sync)
    return lines


def _lost_s(syncs: list[SyncTime]) -> float:
    return sum(sync.lost_s for sync in syncs)


def _remedy(sync: SyncTime, edit: Edit | None) -> str:
    if edit is not None:
        return f"Write `{edit.after}`: the sum stays on the device, and printing it now and then reads it"
    if sync.op in _MASKED:
        return _REMEDIES["aten::nonzero"]
    usual = "Keep the value on the device (`.detach()`) and read it every 50 steps: `if step % 50 == 0:`"
    return _REMEDIES.get(sync.op, usual)


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
            return
        assert isinstance(record, ProfileFact)
        if not record.on_device or (record.launches or record.kernels) < self.least_kernels * record.steps:
            return
        kernel_s = record.device_busy_s / max(1, record.kernels)
        busy = record.device_busy_s / plain_s(record)
        if kernel_s > self.largest_kernel_s or busy > self.highest_busy:
            return
        waited_s = launching_s(record, state.split)
        gain = self.saved * waited_s / plain_s(record)
        severity = severity_of(gain)
        if severity is None:
            return
        dearest = max(record.lines, key=lambda line: line.host_s + line.backward_s, default=None)
        yield self.finding(
            severity=severity,
            confidence=0.85,
            message=f"The device works for {per_step(record.device_busy_s, record)} of the "
            f"{per_step(plain_s(record), record)} of a step ({100 * busy:.0f} %) and waits for the host otherwise, "
            f"which starts {record.kernels / record.steps:.0f} kernels of {1e6 * kernel_s:.2g} us each.",
            why="Each op costs the host 5 to 10 us before its kernel runs. Where kernels are shorter than "
            "that, the device is done before the next one is there.",
            fix='Write `model = torch.compile(model, mode="reduce-overhead")` before the loop: it joins '
            "kernels and starts them as one CUDA graph (`torch.cuda.make_graphed_callables` does so without "
            f"compiling). A larger batch helps as well. That saves up to {100 * gain:.0f} % of a step.",
            where=self._call or (dearest.place if dearest is not None else Place()),
            steps=profiled_steps(record),
            evidence={
                "expected_gain": gain,
                "launching_s": each(waited_s, record),
                "device_busy_s": each(record.device_busy_s, record),
                "step_s": each(plain_s(record), record),
                "kernels": record.kernels / record.steps,
            },
        )


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
            return
        assert isinstance(record, ProfileFact)
        given, few = self._given, 0 < record.kernels < LaunchBound.least_kernels * record.steps
        if given is None or not few or state.speed is None or not record.peak_bytes:
            return
        if given.shape[0] > self.largest_batch:
            return
        busy = record.device_busy_s / plain_s(record)
        tiny = record.device_busy_s <= self.largest_kernel_s * record.kernels
        roomy = record.peak_bytes <= self.fullest * state.speed.device_bytes
        full = record.peak_bytes / max(1, state.speed.device_bytes)
        times = 1  # a power of two that neither the device's time nor half of its memory forbids
        while 2 * times <= self.most_times and 2 * times * busy <= 1 and 2 * times * full <= 0.5:
            times *= 2
        gain = (1 - 1 / times) * launching_s(record, state.split) / plain_s(record)
        if busy <= self.highest_busy and tiny and roomy and gain >= LEAST_GAIN:
            batch = given.shape[0]
            busy_s = each(record.device_busy_s, record)
            yield self.finding(
                severity="note",
                confidence=0.75,
                message=f"With batches of {batch} the device works for {milliseconds(busy_s)} of the "
                f"{per_step(plain_s(record), record)} of a step, and "
                f"{100 * record.peak_bytes / state.speed.device_bytes:.0f} % of its memory were ever used.",
                why="Starting a step costs the host the same for any batch. As long as the device waits for it, "
                "more samples in a step take no longer.",
                fix=f"Try batches of {times * batch}, with a learning rate to match. That saves up to "
                f"{100 * gain:.0f} % of the time for the same number of samples.",
                where=given.call,
                steps=profiled_steps(record),
                evidence={
                    "expected_gain": gain,
                    "batch": float(batch),
                    "device_busy_s": busy_s,
                    "step_s": each(plain_s(record), record),
                    "peak_bytes_of_device": float(record.peak_bytes),
                },
            )
