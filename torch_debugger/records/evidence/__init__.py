"""What is known about a crash beyond its frames: one part for each kind of trouble, most of them absent."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.evidence.absent_values import AbsentValue
from torch_debugger.records.evidence.assertions import AssertionEvidence
from torch_debugger.records.evidence.autograd import AutogradEvidence
from torch_debugger.records.evidence.building import BuildingEvidence, LayerSetting, SwappedArguments
from torch_debugger.records.evidence.checkpoints import CheckpointEvidence
from torch_debugger.records.evidence.cuda import CudaEvidence
from torch_debugger.records.evidence.devices import DeviceEvidence
from torch_debugger.records.evidence.indices import IndexEvidence
from torch_debugger.records.evidence.layouts import PackingEvidence, ViewEvidence
from torch_debugger.records.evidence.loading import LoadingEvidence, Subscripted
from torch_debugger.records.evidence.memory import MemoryEvidence
from torch_debugger.records.evidence.names import NameEvidence
from torch_debugger.records.evidence.numbers import NumberEvidence
from torch_debugger.records.evidence.processes import ProcessEvidence
from torch_debugger.records.evidence.profilers import ProfilerRefusal


@dataclass(frozen=True, slots=True)
class CrashEvidence:
    """Each part is made by the examiner of its name, and only where it concerns the crash."""

    indices: IndexEvidence | None = None
    autograd: AutogradEvidence | None = None
    devices: DeviceEvidence | None = None
    memory: MemoryEvidence | None = None
    cuda: CudaEvidence | None = None
    loading: LoadingEvidence | None = None
    checkpoints: CheckpointEvidence | None = None
    names: NameEvidence | None = None
    building: BuildingEvidence | None = None
    processes: ProcessEvidence | None = None
    view: ViewEvidence | None = None
    packing: PackingEvidence | None = None
    numbers: NumberEvidence | None = None
    entry: Subscripted | None = None
    swaps: SwappedArguments | None = None
    setting: LayerSetting | None = None
    assertion: AssertionEvidence | None = None
    absent: AbsentValue | None = None
    profiler: ProfilerRefusal | None = None
    faults: tuple[str, ...] = ()  # examiners that failed, and how: "autograd: KeyError: 'x'"


__all__ = [
    "AbsentValue",
    "AssertionEvidence",
    "AutogradEvidence",
    "BuildingEvidence",
    "CheckpointEvidence",
    "CrashEvidence",
    "CudaEvidence",
    "DeviceEvidence",
    "IndexEvidence",
    "LayerSetting",
    "LoadingEvidence",
    "MemoryEvidence",
    "NameEvidence",
    "NumberEvidence",
    "PackingEvidence",
    "ProcessEvidence",
    "ProfilerRefusal",
    "SwappedArguments",
    "ViewEvidence",
]  # fmt: skip
