"""A name that was asked of a module or object, and the names that exist."""

from __future__ import annotations

from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import NameEvidence


def examine_names(scene: Scene) -> NameEvidence | None:
    """Nothing yet."""
    return None
