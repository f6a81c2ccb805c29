"""All examiners, each guarded: half an explanation of a crash beats a second crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_debugger.crashes.autograd import examine_autograd
from torch_debugger.crashes.checkpoints import examine_checkpoints
from torch_debugger.crashes.cuda import examine_cuda
from torch_debugger.crashes.devices import examine_devices
from torch_debugger.crashes.frames import LiveCrash
from torch_debugger.crashes.indices import examine_indices
from torch_debugger.crashes.loading import examine_loading
from torch_debugger.crashes.loading_samples import examine_entry
from torch_debugger.crashes.memory import examine_memory
from torch_debugger.crashes.modules import examine_init, examine_registration
from torch_debugger.crashes.modules_called import (
    examine_arguments,
    examine_class_use,
    examine_forward,
    examine_single_value,
)
from torch_debugger.crashes.names import examine_names
from torch_debugger.crashes.optimizers import examine_optimizer
from torch_debugger.crashes.optimizers_schedulers import examine_scaler, examine_scheduler
from torch_debugger.crashes.processes import examine_processes
from torch_debugger.crashes.profilers import examine_profiler
from torch_debugger.crashes.shapes import examine_packing, examine_view
from torch_debugger.crashes.shapes_constructors import examine_layer_settings, examine_swaps
from torch_debugger.crashes.values import examine_assertion, examine_built_value, examine_value
from torch_debugger.crashes.values_none import examine_absent_value
from torch_debugger.crashes.values_not_finite import examine_numbers
from torch_debugger.records.crash import CrashEvidence
from torch_debugger.records.crash_modules import BuildingEvidence
from torch_debugger.source.objects import is_a

# How a module, optimizer or scheduler was built and called.
_KINDS = (
    TypeError, AttributeError, ValueError, KeyError, NotImplementedError, RuntimeError, ZeroDivisionError,
    AssertionError,
)  # fmt: skip
# In this order: a part that speaks is the cause of what a later one would see.
_PARTS: dict[str, Callable[[LiveCrash], Any]] = {
    "single_value": examine_single_value,
    "init": examine_init,
    "forward": examine_forward,
    "arguments": examine_arguments,
    "registration": examine_registration,
    "class_use": lambda crash: examine_class_use(crash) or examine_built_value(crash),
    "optimizer": examine_optimizer,
    "scheduler": examine_scheduler,
    "scaler": examine_scaler,
    "value": examine_value,
}


def examine_building(crash: LiveCrash) -> BuildingEvidence | None:
    """The first part that has something to say; None for crashes of other kinds."""
    if not is_a(crash.error, _KINDS) or crash.user_frame is None:
        return None
    for part, examine in _PARTS.items():
        if (fact := examine(crash)) is not None:
            return BuildingEvidence(**{part: fact})
    return None


_EXAMINERS: dict[str, Callable[[LiveCrash], Any]] = {
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


def examine_all(crash: LiveCrash) -> CrashEvidence:
    parts: dict[str, Any] = {}
    faults: list[str] = []
    for part, examine in _EXAMINERS.items():
        try:
            parts[part] = examine(crash)
        except Exception as fault:  # ours, or of an object of the user's that we asked: the report tells it
            faults.append(f"{part}: {type(fault).__name__}: {fault}")
    return CrashEvidence(**parts, faults=tuple(faults))
