"""Process groups, ranks and compiled regions at the moment of the crash."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessEvidence:
    """Process groups, ranks and compiled regions at the moment of the crash."""
