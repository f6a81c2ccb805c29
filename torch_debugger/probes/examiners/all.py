"""All examiners, each guarded: half an explanation of a crash beats a second crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_debugger.probes.examiners.absent_values import examine_absent_value
from torch_debugger.probes.examiners.assertions import examine_assertion
from torch_debugger.probes.examiners.autograd import examine_autograd
from torch_debugger.probes.examiners.building import examine_building
from torch_debugger.probes.examiners.checkpoints import examine_checkpoints
from torch_debugger.probes.examiners.cuda import examine_cuda
from torch_debugger.probes.examiners.devices import examine_devices
from torch_debugger.probes.examiners.indices import examine_indices
from torch_debugger.probes.examiners.layer_settings import examine_layer_settings
from torch_debugger.probes.examiners.loading import examine_loading
from torch_debugger.probes.examiners.loading_raised import examine_entry
from torch_debugger.probes.examiners.memory import examine_memory
from torch_debugger.probes.examiners.names import examine_names
from torch_debugger.probes.examiners.numbers import examine_numbers
from torch_debugger.probes.examiners.packing import examine_packing
from torch_debugger.probes.examiners.processes import examine_processes
from torch_debugger.probes.examiners.profilers import examine_profiler
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.swapped_arguments import examine_swaps
from torch_debugger.probes.examiners.views import examine_view
from torch_debugger.records.evidence import CrashEvidence

_EXAMINERS: dict[str, Callable[[Scene], Any]] = {
    "indices": examine_indices,
    "autograd": examine_autograd,
    "devices": examine_devices,
    "memory": examine_memory,
    "cuda": examine_cuda,
    "loading": examine_loading,
    "checkpoints": examine_checkpoints,
    "names": examine_names,
    "building": examine_building,
    "processes": examine_processes,
    "view": examine_view,
    "packing": examine_packing,
    "numbers": examine_numbers,
    "entry": examine_entry,
    "swaps": examine_swaps,
    "setting": examine_layer_settings,
    "assertion": examine_assertion,
    "absent": examine_absent_value,
    "profiler": examine_profiler,
}


def examine_all(scene: Scene) -> CrashEvidence:
    parts: dict[str, Any] = {}
    faults: list[str] = []
    for part, examine in _EXAMINERS.items():
        try:
            parts[part] = examine(scene)
        except Exception as fault:  # ours, or of an object of the user's that we asked: the report tells it
            faults.append(f"{part}: {type(fault).__name__}: {fault}")
    return CrashEvidence(**parts, faults=tuple(faults))
