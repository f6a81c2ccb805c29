"""Process groups, ranks and compiled regions at the moment of the crash."""

from __future__ import annotations

from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import ProcessEvidence


def examine_processes(scene: Scene) -> ProcessEvidence | None:
    """Nothing yet."""
    return None
