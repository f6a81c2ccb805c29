"""What the autograd graph, version counters and a replay tell about a crash in backward."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AutogradEvidence:
    """What the autograd graph, version counters and a replay tell about a crash in backward."""
