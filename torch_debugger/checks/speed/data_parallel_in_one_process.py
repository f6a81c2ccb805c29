"""TD738: nn.DataParallel, which sends the model to all devices anew in each step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import expected, milliseconds, severity_of
from torch_debugger.checks.stacks import LEAST_SAMPLES, share_below
from torch_debugger.checks.state import RunState
from torch_debugger.checks.step_lines import step_s
from torch_debugger.records import CostFact, Finding, ModuleFact, Record


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
        return self._judge(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def _judge(self, state: RunState) -> Iterable[Finding]:
        modules = [each for model in state.models.values() for each in model.modules]
        found = next((each for each in modules if self._is_several(each)), None)
        stacks = state.sampled.get("training")
        if found is None or stacks is None or stacks.samples < LEAST_SAMPLES or not state.split.is_enough():
            return
        gain = sum(share_below(stacks, f"DataParallel.{part}") for part in self.handing_out)
        if severity_of(gain) is not None and gain * step_s(state) >= self.least_s:
            yield self._told(found, gain, state)

    def _is_several(self, module: ModuleFact) -> bool:
        return module.kind == "DataParallel" and module.settings.get("devices", 0) >= self.least_devices

    def _told(self, module: ModuleFact, gain: float, state: RunState) -> Finding:
        devices, whole_s = int(module.settings["devices"]), step_s(state)
        return self.finding(
            severity="note",
            confidence=0.8,
            message=(
                f"`{module.path}` is a DataParallel over {devices} devices: {milliseconds(gain * whole_s)} of "
                f"the {milliseconds(whole_s)} of each step go into copying the model to them, handing out the "
                "batch and bringing the results together."
            ),
            why=(
                "DataParallel makes its copies of the model anew in each forward and throws them away after "
                "the backward, and a single Python process starts the work of all devices, one after the other."
            ),
            fix=(
                f"Start one process for each device (`torchrun --nproc_per_node={devices} ...`), call "
                "`torch.distributed.init_process_group()`, wrap the model in `nn.parallel."
                "DistributedDataParallel(model, device_ids=[local_rank])` and give the loader a "
                f"`DistributedSampler`. {expected(gain, whole_s)}"
            ),
            where=module.place,
            first_step=1,
            last_step=state.step,
            evidence={
                "expected_gain": gain,
                "handing_out_s": gain * whole_s,
                "step_s": whole_s,
                "devices": float(devices),
            },
        )
