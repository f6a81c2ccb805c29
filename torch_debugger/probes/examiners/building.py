"""How a module, optimizer or scheduler was built and called."""

from __future__ import annotations

from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import BuildingEvidence


def examine_building(scene: Scene) -> BuildingEvidence | None:
    """Nothing yet."""
    return None
