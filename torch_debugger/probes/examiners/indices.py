"""Integer tensors that were used as indices, against the sizes they index."""

from __future__ import annotations

from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import IndexEvidence


def examine_indices(scene: Scene) -> IndexEvidence | None:
    """Nothing yet."""
    return None
