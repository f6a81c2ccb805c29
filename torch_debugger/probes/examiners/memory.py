"""Where the bytes of an accelerator went, and what would fit."""

from __future__ import annotations

from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import MemoryEvidence


def examine_memory(scene: Scene) -> MemoryEvidence | None:
    """Nothing yet."""
    return None
