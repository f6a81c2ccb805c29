"""Which tensors live where, and the lines that made the odd ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """Which tensors live where, and the lines that made the odd ones."""
