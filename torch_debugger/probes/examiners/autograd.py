"""What the autograd graph, version counters and a replay tell about a crash in backward."""

from __future__ import annotations

from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import AutogradEvidence


def examine_autograd(scene: Scene) -> AutogradEvidence | None:
    """Nothing yet."""
    return None
