"""A checkpoint against the model it was loaded into."""

from __future__ import annotations

from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import CheckpointEvidence


def examine_checkpoints(scene: Scene) -> CheckpointEvidence | None:
    """Nothing yet."""
    return None
