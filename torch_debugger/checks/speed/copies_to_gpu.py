"""Copies to the GPU: of unpinned batches, and of the whole model by nn.DataParallel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.call_edits import loader_with_keyword
from torch_debugger.checks.step_time import (
    LEAST_SAMPLES,
    each,
    expected,
    idle_s,
    milliseconds,
    per_step,
    plain_s,
    profiled_steps,
    severity_of,
    share_below,
    step_s,
)
from torch_debugger.records import CostFact, Edit, Finding, LoaderFact, ProfileFact, Record


class UnpinnedCopy(Check):
    """Batches are copied to the device from ordinary memory, slowly, while the host waits.

    Symptom:
        Each step begins with a copy to the device that takes long for its size, and nothing else happens
        meanwhile.
    Evidence:
        From a profile of some steps: copies from pageable memory by line, their bytes and their time on the
        device, beside what the same bytes take out of pinned memory on hardware of this generation; and the
        time in which the device had nothing to do because the host had waited for the copy.
    Fix:
        `DataLoader(..., pin_memory=True)` and `x.to(device, non_blocking=True)`.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU. How fast pinned memory is read depends on
        the machine; the figure used is a cautious one.
    """

    id = "TD731"
    name = "unpinned-copy"
    title = "batches are copied to the device from unpinned memory"
    reads = (ProfileFact,)

    # Bytes a second out of pinned memory, by the device's generation: three quarters of what was measured on an
    # H200 (54e9, against 7e9 to 13e9 out of ordinary memory), and of what the buses of older ones can do.
    pinned_rates = (((9, 0), 40e9), ((8, 0), 18e9), ((0, 0), 9e9))
    # In a step: small copies are over before anything could wait for them.
    least_bytes = 1_000_000

    def see(self, record: ProfileFact, state: RunState) -> Iterable[Finding]:
        slow = [copy for copy in record.copies if copy.way == "host to device" and not copy.pinned]
        slow = [copy for copy in slow if copy.size_bytes >= self.least_bytes * record.steps]
        if not slow or state.speed is None:
            return
        size_bytes = sum(copy.size_bytes for copy in slow)
        rate = next(rate for least, rate in self.pinned_rates if state.speed.capability >= least)
        copied_s = sum(copy.device_s for copy in slow)
        places = {copy.place for copy in slow}
        lost_s = min(idle_s(record), sum(sync.lost_s for sync in record.syncs if sync.place in places))
        saved_s = max(0.0, copied_s - size_bytes / rate) + lost_s
        gain = min(1.0, saved_s / plain_s(record))
        severity = severity_of(gain)
        if severity is None:
            return
        dearest = max(slow, key=lambda copy: copy.device_s)
        # The loader that is met first, if its line can be told: trainings come before validations.
        known = [loader for loader in state.loaders.values() if loader.made]
        loader = min(known, key=lambda loader: loader.number, default=None)
        edit = loader_with_keyword(loader.made, "pin_memory", "True") if loader is not None and loader.workers else None
        yield self.finding(
            severity=severity,
            confidence=0.85,
            message=f"`{dearest.place.code or 'a copy'}` brings {each(size_bytes, record) / 1e6:.3g} MB a step to the "
            f"device out of unpinned memory: {per_step(copied_s, record)} of the "
            f"{per_step(plain_s(record), record)} of a step, at {size_bytes / copied_s / 1e9:.2g} GB/s.",
            why="The device reads pinned memory by itself while the host goes on. Ordinary memory has to be "
            "copied into a pinned buffer piece by piece first, and the host waits for that.",
            fix=_remedy(loader, edit, gain),
            where=dearest.place,
            steps=profiled_steps(record),
            evidence={
                "expected_gain": gain,
                "saved_s": each(saved_s, record),
                "copy_s": each(copied_s, record),
                "size_bytes": each(size_bytes, record),
                "step_s": each(plain_s(record), record),
            },
            edit=edit,
        )


def _remedy(loader: LoaderFact | None, edit: Edit | None, gain: float) -> str:
    if loader is None:
        pinned = "Pin the tensor once (`images = images.pin_memory()`; a DataLoader takes `pin_memory=True`)"
    elif edit is None and not loader.workers:
        pinned = "Give the DataLoader `num_workers=2, pin_memory=True` (without workers the training would pin)"
    else:
        pinned = f"Write `{edit.after}`" if edit is not None else "Give the DataLoader `pin_memory=True`"
    saving = f"That saves about {100 * gain:.0f} % of a step."
    return f"{pinned}, and copy with `.to(device, non_blocking=True)`. {saving}"


class DataParallelInOneProcess(Check):
    """One process drives several devices by nn.DataParallel, and copies the whole model in each forward.

    Symptom:
        Two devices are hardly faster than one, the first of them has more memory in use than the others, and
        none is busy all the time.
    Evidence:
        A `DataParallel` over at least two devices, and the share of the training's time, as sampled, in which
        it copies the model, hands out the batch and brings the results together.
    Fix:
        One process for each device and `DistributedDataParallel`: copies are made once, and gradients are
        exchanged while the backward still runs.
    Known limits:
        Only the time of those three is counted. That one Python starts the kernels of all devices costs more,
        and is not measured. It was tried on one GPU that stood in for two, and is a note for that reason.
    """

    id = "TD738"
    name = "data-parallel-in-one-process"
    title = "one process drives several devices"
    reads = (CostFact,)

    least_devices = 2
    # Methods of it that DistributedDataParallel has no need of.
    handing_out: ClassVar[tuple[str, ...]] = ("replicate", "scatter", "gather")
    least_s = 0.001

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        return self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        wrappers = (module for module in state.modules if module.kind == "DataParallel")
        found = next((each for each in wrappers if each.settings.get("devices", 0) >= self.least_devices), None)
        stacks = state.sampled.get("training")
        if found is None or stacks is None or stacks.samples < LEAST_SAMPLES or not state.split.is_enough():
            return
        gain = sum(share_below(stacks, f"DataParallel.{part}") for part in self.handing_out)
        if severity_of(gain) is not None and gain * step_s(state) >= self.least_s:
            devices, whole_s = int(found.settings["devices"]), step_s(state)
            yield self.finding(
                severity="note",
                confidence=0.8,
                message=f"`{found.path}` is a DataParallel over {devices} devices: {milliseconds(gain * whole_s)} of "
                f"the {milliseconds(whole_s)} of each step go into copying the model to them, handing out the "
                "batch and bringing the results together.",
                why="DataParallel makes its copies of the model anew in each forward and throws them away after "
                "the backward, and a single Python process starts the work of all devices, one after the other.",
                fix=f"Start one process for each device (`torchrun --nproc_per_node={devices} ...`), call "
                "`torch.distributed.init_process_group()`, wrap the model in `nn.parallel."
                "DistributedDataParallel(model, device_ids=[local_rank])` and give the loader a "
                f"`DistributedSampler`. {expected(gain, whole_s)}",
                where=found.place,
                steps=(1, state.step),
                evidence={
                    "expected_gain": gain,
                    "handing_out_s": gain * whole_s,
                    "step_s": whole_s,
                    "devices": float(devices),
                },
            )
