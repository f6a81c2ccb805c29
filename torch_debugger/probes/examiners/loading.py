"""What a DataLoader and its workers were doing."""

from __future__ import annotations

from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import LoadingEvidence


def examine_loading(scene: Scene) -> LoadingEvidence | None:
    """Nothing yet."""
    return None
