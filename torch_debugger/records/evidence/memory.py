"""Where the bytes of an accelerator went, and what would fit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryEvidence:
    """Where the bytes of an accelerator went, and what would fit."""
