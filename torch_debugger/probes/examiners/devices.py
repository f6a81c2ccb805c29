"""Which tensors live where, and the lines that made the odd ones."""

from __future__ import annotations

from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import DeviceEvidence


def examine_devices(scene: Scene) -> DeviceEvidence | None:
    """Nothing yet."""
    return None
