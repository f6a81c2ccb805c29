"""What a DataLoader and its workers were doing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadingEvidence:
    """What a DataLoader and its workers were doing."""
