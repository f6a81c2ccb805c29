"""How a module, optimizer or scheduler was built and called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.examiners.building_classes import examine_class_use
from torch_debugger.probes.examiners.building_forwards import examine_arguments, examine_forward
from torch_debugger.probes.examiners.building_inits import examine_init
from torch_debugger.probes.examiners.building_optimizers import examine_optimizer
from torch_debugger.probes.examiners.building_registrations import examine_registration
from torch_debugger.probes.examiners.building_scalers import examine_scaler
from torch_debugger.probes.examiners.building_schedulers import examine_scheduler
from torch_debugger.probes.examiners.building_values import examine_built_value, examine_value
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.single_values import examine_single_value
from torch_debugger.records.evidence import BuildingEvidence

_KINDS = (
    TypeError, AttributeError, ValueError, KeyError, NotImplementedError, RuntimeError, ZeroDivisionError,
    AssertionError,
)  # fmt: skip
# In this order: a part that speaks is the cause of what a later one would see.
_PARTS: dict[str, Callable[[Scene], Any]] = {
    "single_value": examine_single_value,
    "init": examine_init,
    "forward": examine_forward,
    "arguments": examine_arguments,
    "registration": examine_registration,
    "class_use": lambda scene: examine_class_use(scene) or examine_built_value(scene),
    "optimizer": examine_optimizer,
    "scheduler": examine_scheduler,
    "scaler": examine_scaler,
    "value": examine_value,
}


def examine_building(scene: Scene) -> BuildingEvidence | None:
    """The first part that has something to say; None for crashes of other kinds."""
    if not is_a(scene.error, _KINDS) or scene.user_frame is None:
        return None
    for part, examine in _PARTS.items():
        if (fact := examine(scene)) is not None:
            return BuildingEvidence(**{part: fact})
    return None
