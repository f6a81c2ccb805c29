"""How a module, optimizer or scheduler was built and called."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BuildingEvidence:
    """How a module, optimizer or scheduler was built and called."""
