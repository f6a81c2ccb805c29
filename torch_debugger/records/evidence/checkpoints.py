"""A checkpoint against the model it was loaded into."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckpointEvidence:
    """A checkpoint against the model it was loaded into."""
